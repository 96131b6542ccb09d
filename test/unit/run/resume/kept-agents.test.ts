import { expect, test } from 'vitest';
import { agentsOf } from '../../../../src/config/agents.ts';
import { type AgentSettings, keptAgents } from '../../../../src/run/resume/kept-agents.ts';

const haiku = { harness: 'claude', model: 'haiku' };
const opus = { harness: 'claude', model: 'opus' };
const codex = { harness: 'codex', model: null };
const given = (settings: Partial<AgentSettings>): AgentSettings => ({
  harness: 'opencode',
  model: null,
  escalate: null,
  ...settings,
});
const withModel = { settings: { explicit: ['model'], file: {} } };

test.each([
  ['nothing is set', [haiku, codex], {}, given({}), [], [haiku, codex], false],
  ['nothing is set, with a ladder', [haiku, opus], { ladder: true as const }, given({}), [], [haiku, opus], true],
  [
    'a ladder is set',
    [codex],
    {},
    given({ harness: 'claude:haiku,claude:opus', escalate: 'claude:haiku,claude:opus' }),
    ['escalate'],
    [haiku, opus],
    true,
  ],
  ['an agent is set', [haiku], {}, given({ harness: 'codex' }), ['harness'], [codex], false],
  ['an agent is set, and the model was', [haiku], withModel, given({ harness: 'claude' }), ['harness'], [haiku], false],
  [
    'an agent and a model are set',
    [haiku],
    withModel,
    given({ harness: 'claude', model: 'opus' }),
    ['harness', 'model'],
    [opus],
    false,
  ],
  ['a model is set', [haiku, codex], {}, given({ model: 'x' }), ['model'], ['claude', 'codex'], false],
  [
    'a model is set, with a ladder',
    [haiku, opus],
    { ladder: true as const },
    given({ model: 'x' }),
    ['model'],
    ['claude'],
    false,
  ],
])('which agents a run keeps if %s', (_, agents, more, options, explicit, expected, ladder) => {
  const kept = keptAgents(
    { agents, settings: null, ...more },
    options,
    (name) => !(explicit as readonly string[]).includes(name),
  );

  const all = expected.map((each) => (typeof each === 'string' ? { harness: each, model: 'x' } : each));
  expect(agentsOf(kept)).toEqual(all);
  expect(kept.escalate !== null).toBe(ladder);
});
