import { describe, expect, test } from 'vitest';
import type { AgentMode } from '../../../src/harness/agent-mode.ts';
import { capabilitiesIn, chooseMode, type ModeCircumstances, reasonForMode } from '../../../src/harness/modes.ts';
import { harnesses } from '../../../src/harness/registry.ts';

const usual: ModeCircumstances = { wanted: null, isSandboxed: false, isWorker: false, platform: 'linux' };

const named = (name: string) => harnesses.find((each) => each.name === name)!;

describe('the reason for the mode of an agent', () => {
  test.each<[string, Partial<ModeCircumstances>, string]>([
    ['opencode', {}, 'its default'],
    ['opencode', { wanted: 'warm' }, 'your setting'],
    ['opencode', { wanted: 'cold' }, 'your setting'],
    ['opencode', { isSandboxed: true }, 'a sandbox ends with each iteration'],
    ['opencode', { wanted: 'warm', isSandboxed: true }, 'a sandbox ends with each iteration'],
    ['opencode', { platform: 'darwin' }, 'it is only supported on Linux'],
    ['codex-acp', {}, 'its default'],
    ['claude', {}, 'its only mode'],
    ['claude', { wanted: 'cold' }, 'its only mode'],
    ['claude', { wanted: 'warm' }, 'Claude Code cannot keep running between iterations'],
  ])('%s with %j: %s', (name, given, reason) => {
    expect(reasonForMode(named(name), { ...usual, ...given })).toBe(reason);
  });
});

describe('what an agent reports', () => {
  test.each<[string, string, boolean, AgentMode]>([
    ['copilot', 'tokens', false, 'cold'],
    ['copilot', 'tokens', true, 'standby'],
    ['copilot', 'tokens', true, 'warm'],
    ['gemini', 'denials', false, 'cold'],
    ['gemini', 'denials', true, 'warm'],
    ['qwen', 'denials', false, 'cold'],
    ['qwen', 'denials', true, 'warm'],
    ['opencode', 'cost', true, 'cold'],
    ['opencode', 'cost', true, 'warm'],
    ['goose', 'tokens', false, 'warm'],
    ['claude', 'cost', true, 'cold'],
  ])('%s: %s is %s in %s mode', (name, capability, reported, mode) => {
    expect(capabilitiesIn(named(name), mode).some((each) => each === capability)).toBe(reported);
  });
});

describe('the mode of an agent', () => {
  test.each<[string, Partial<ModeCircumstances>, AgentMode, RegExp | null]>([
    ['opencode', {}, 'warm', null],
    ['opencode', { wanted: 'warm' }, 'warm', null],
    ['opencode', { wanted: 'standby' }, 'standby', null],
    ['opencode', { wanted: 'cold' }, 'cold', null],
    ['opencode', { wanted: 'warm', isSandboxed: true }, 'cold', /sandbox/],
    ['opencode', { wanted: 'warm', isWorker: true }, 'cold', /worker/],
    ['opencode', { wanted: 'warm', platform: 'darwin' }, 'cold', /Linux/],
    ['opencode', { isSandboxed: true }, 'cold', null],
    ['opencode', { isWorker: true }, 'cold', null],
    ['opencode', { platform: 'darwin' }, 'cold', null],
    ['opencode', { platform: 'win32' }, 'cold', null],
    ['claude', {}, 'cold', null],
    ['claude', { wanted: 'warm' }, 'cold', /Claude.* cannot keep running/],
    ['codex', {}, 'cold', null],
    ['copilot', {}, 'warm', null],
    ['copilot', { isSandboxed: true }, 'cold', null],
    ['codex-acp', {}, 'cold', null],
    ['codex-acp', { wanted: 'warm' }, 'warm', null],
    ['claude-agent-acp', {}, 'cold', null],
  ])('%s with %j is %s', (name, given, mode, why) => {
    const chosen = chooseMode(named(name), { ...usual, ...given });
    expect(chosen.mode).toBe(mode);
    if (why === null) expect(chosen.why).toBeNull();
    else expect(chosen.why).toMatch(why);
  });
});
