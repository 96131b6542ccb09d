import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseValue } from '../../../src/config/values.ts';
import { observeIteration } from '../../../src/ralph/observe-iteration.ts';
import {
  buildPromptPreamble,
  buildRalphPrompt,
  describeResult,
  type PreambleOptions,
  type PromptOptions,
} from '../../../src/ralph/prompt.ts';
import { crash, recordWith } from './records.ts';

const full = {
  changeId: '002-01_add-ralph-loop',
  changeFolder: '.spool/changes/002-01_add-ralph-loop',
  moduleId: '002',
  iteration: 3,
  maxIterations: 50,
  minIterations: 2,
  completionPromise: 'COMPLETE',
  contextContent: 'The API moved to `/v2`.\n',
  lastResult: '\nIt changed no files. If you are stuck, try another approach.\n',
  proposal: '# Add the loop\n\n## Why\n\nNobody wants to press Enter all night.\n',
  module: '# Ralph\n\nThe loop and all that belongs to it.\n',
  tasksFile: 'tasks.md',
  files: ['specs/ralph-loop/spec.md', 'tasks.md', 'design.md'],
  hasSpecs: true,
} satisfies PromptOptions;

const userPrompt = 'Begin with the tests.\n';

const headings = (prompt: string) => prompt.match(/^##? .*$/gm);
const separators = (prompt: string) => prompt.match(/\n\n---\n\n/g);

describe('the whole prompt', () => {
  test('matches the golden file', async () => {
    await expect(buildRalphPrompt(userPrompt, full)).toMatchFileSnapshot('./prompt.golden.md');
  });

  const short = { ...full, proposal: 'What to do.', module: 'Where it belongs.' };
  const all = [
    '# Ralph Wiggum Loop - Iteration 3',
    '## Instructions',
    '## Critical Rules',
    '## Autonomy Requirements',
    '## Additional Context (added by user mid-loop)',
    '## Result of Iteration 2',
    '## Your Task',
    '## Change Proposal (002-01_add-ralph-loop)',
    '## Module (002)',
  ];

  test('has its sections in order, with separators between them', () => {
    const prompt = buildRalphPrompt(userPrompt, short);
    expect(headings(prompt)).toEqual(all);
    expect(separators(prompt)).toHaveLength(5);
    expect(prompt).toContain('\n\n---\n\n## Additional Context');
    expect(prompt).toContain('\n\n---\n\n## Result of Iteration 2');
    expect(prompt).toContain('\n\n---\n\n## Your Task');
    expect(prompt).toContain('\n\n---\n\n## Module (002)');
    expect(prompt).toMatch(/\n\n---\n\nBegin with the tests\.\n$/);
  });

  describe.each([
    ['null', null],
    ['blank', ' \n\t\n'],
  ])('omits values that are %s', (_, nothing) => {
    test.each([
      ['contextContent', '## Additional Context (added by user mid-loop)'],
      ['lastResult', '## Result of Iteration 2'],
      ['proposal', '## Change Proposal (002-01_add-ralph-loop)'],
      ['module', '## Module (002)'],
    ])('%s', (option, heading) => {
      const prompt = buildRalphPrompt(userPrompt, { ...short, [option]: nothing });
      expect(headings(prompt)).toEqual(all.filter((each) => each !== heading));
      expect(separators(prompt)).toHaveLength(4);
    });
  });

  test('uses the proposal as the task without a prompt', () => {
    const prompt = buildRalphPrompt(' \n', { ...short, module: null });
    expect(prompt).toMatch(/## Change Proposal \(002-01_add-ralph-loop\)\n\nWhat to do\.\n$/);
  });

  test('names the folder of the change', () => {
    expect(buildRalphPrompt(userPrompt, full)).toContain('`.spool/changes/002-01_add-ralph-loop/`');
  });

  test('lists twenty of its files and the number of others', () => {
    const files = Array.from({ length: 25 }, (_, index) => `specs/${index}.md`);
    const prompt = buildRalphPrompt(userPrompt, { ...short, files });
    expect(prompt.match(/^- specs\/.*$/gm)).toEqual(files.slice(0, 20).map((file) => `- ${file}`));
    expect(prompt).toContain('\n- and 5 more\n');
    expect(buildRalphPrompt(userPrompt, { ...short, files: [] })).toContain('002-01_add-ralph-loop/`.\n');
  });

  test.each<[string, PromptOptions]>([
    ['only a prompt', {}],
    ['a proposal without an id', { proposal: 'What to do.' }],
    ['a module without an id', { module: 'Where it belongs.' }],
  ])('omits unknown ids: %s', (_, options) => {
    expect(buildRalphPrompt(userPrompt, options)).not.toContain('undefined');
  });
});

describe('the preamble', () => {
  test('has between 300 and 500 tokens', () => {
    const tokens = buildPromptPreamble({}).length / 4;
    expect(tokens).toBeGreaterThan(300);
    expect(tokens).toBeLessThan(500);
  });

  test.each<[string, PreambleOptions]>([
    ['iteration 1 (min: 1)', {}],
    ['iteration 7 (min: 1)', { iteration: 7 }],
    ['iteration 3 / 50 (min: 2)', full],
    ['iteration 3 / unlimited (min: 1)', { iteration: 3, maxIterations: Infinity }],
  ])('Progress: %s', (progress, options) => {
    expect(buildPromptPreamble(options)).toContain(`\nProgress: ${progress}\n`);
  });

  test('asks for the configured promise', () => {
    expect(buildPromptPreamble({ completionPromise: 'ALL DONE' })).toContain('<promise>ALL DONE</promise>');
    expect(buildPromptPreamble({})).toContain('<promise>COMPLETE</promise>');
  });

  test('is not a promise if an agent repeats it, for any promise', () => {
    const word = fc
      .oneof(fc.string(), fc.constantFrom('ALL DONE', '```', '~~~', 'a`b', '**', '--', 'promise'))
      .map((text) => parseValue('line', text))
      .filter((value) => typeof value === 'string');
    fc.assert(
      fc.property(word, (completionPromise) => {
        expect(promises(completionPromise, buildPromptPreamble({ completionPromise }))).toBe(false);
        expect(promises(completionPromise, `<promise>${completionPromise}</promise>`)).toBe(true);
      }),
    );
  });
});

describe('properties of the prompt', () => {
  const pieces = fc.constantFrom(
    '$&',
    '$1',
    "$'",
    '$$',
    '${x}',
    '`',
    '```\n',
    '---',
    '\n\n---\n\n',
    '## Your Task',
    '\u2028',
    '\\n',
    '%s',
  );
  const text = fc
    .array(fc.oneof(pieces, fc.string()), { minLength: 1, maxLength: 6 })
    .map((chosen) => chosen.join(''))
    .filter((joined) => joined.trim() !== '');

  test('text of the user is included unchanged', () => {
    fc.assert(
      fc.property(text, text, text, text, (user, contextContent, proposal, module) => {
        const prompt = buildRalphPrompt(user, { ...full, contextContent, proposal, module });
        expect(prompt).toContain(`(added by user mid-loop)\n\n${contextContent.trim()}\n\n---\n\n`);
        expect(prompt).toContain(`## Change Proposal (${full.changeId})\n\n${proposal.trim()}\n\n---\n\n`);
        expect(prompt).toContain(`## Module (002)\n\n${module.trim()}\n\n---\n\n`);
        expect(prompt.endsWith(`\n\n---\n\n${user.trim()}\n`)).toBe(true);
      }),
    );
  });

  test('the same options result in the same prompt and are not modified', () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 1 }), (user, contextContent, iteration) => {
        const options = { ...full, contextContent, iteration };
        const before = structuredClone(options);
        expect(buildRalphPrompt(user, options)).toBe(buildRalphPrompt(user, before));
        expect(options).toEqual(before);
      }),
    );
  });
});

describe('the result of the previous iteration', () => {
  const nothingChanged = { filesChanged: 0, files: [], insertions: 0, deletions: 0, changes: [], commits: [] };

  test.each([
    ['without one', null, null],
    ['without problems', recordWith(), null],
    ['without problems and without git', recordWith({ git: null }), null],
    ['without changes', recordWith({ git: nothingChanged }), /changed no file/],
    ['with a failure', recordWith({ error: crash }), /failed: the agent exited with code 1\./],
    ['with a failure and without changes', recordWith({ error: crash, git: nothingChanged }), /failed/],
    ['with an early promise', recordWith({ completionFound: true }), /more iterations were requested/],
    [
      'with a rejected promise',
      recordWith({ rejected: crash.message, error: crash }),
      /rejected: the agent exited with code 1\./,
    ],
  ])('%s', (_, record, expected) => {
    const words = describeResult(record, { stalled: 0, sameErrorCount: 0 });
    if (expected === null) expect(words).toBeNull();
    else expect(words).toMatch(expected);
  });

  test.each([
    [
      'several iterations without changes',
      recordWith({ git: nothingChanged }),
      { stalled: 3, sameErrorCount: 0 },
      /last 3 iterations changed no file/,
    ],
    [
      'a repeated error',
      recordWith({ error: crash }),
      { stalled: 0, sameErrorCount: 2 },
      /same error occurred 2 times/,
    ],
    [
      'a repeated tool call',
      recordWith({ repeated: { tool: 'bash', title: 'npm test', times: 40 } }),
      { stalled: 0, sameErrorCount: 0 },
      /called bash 40 times in a row with the same input \(npm test\)/,
    ],
  ])('%s', (_, record, totals, expected) => {
    expect(describeResult(record, totals)).toMatch(expected);
  });

  test('names denied tools, but not how to allow them, which is up to the user', () => {
    const denied = { tools: ['bash', 'edit'], message: 'OpenCode may not; set "permission" in opencode.json' };
    const error = { kind: 'permission', message: denied.message } as const;
    const records = [{ denied }, { denied, error }, { denied, error, rejected: error.message }];
    for (const facts of records) {
      const words = describeResult(recordWith(facts), { stalled: 0, sameErrorCount: 0 });
      expect(words).toContain('You are not allowed to use bash, edit.');
      expect(words).not.toContain('opencode.json');
    }
  });

  test('includes the end of the output of a failed gate, in a fence that it cannot close', () => {
    const run = { command: 'npm test', outcome: 'failed', exitCode: 1, durationMs: 5, tail: 'a\n```\nb' } as const;
    const gate = { passed: false, tampering: [], openTasks: [], runs: [run] };
    const refused = describeResult(recordWith({ gate, rejected: '"npm test" failed' }), {
      stalled: 0,
      sameErrorCount: 0,
    });
    expect(refused).toMatch(/rejected: "npm test" failed\./);
    expect(refused).toContain('The end of the output of "npm test":\n\n````\na\n```\nb\n````');
    expect(describeResult(recordWith({ gate }), { stalled: 0, sameErrorCount: 0 })).toContain(
      'a state that does not pass the checks: "npm test" failed (exit code 1, retried once).',
    );
  });
});

const promises = (promise: string, text: string): boolean => {
  const watch = observeIteration({ completionPromise: promise, blockedPromise: 'BLOCKED' }, '');
  watch.observe({ type: 'text', text, plain: false });
  return watch.promised();
};
