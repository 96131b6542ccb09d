import { describe, expect, test } from 'vitest';
import { canComeFrom, envOf, type Flag, type FlagName, flagNames, flagOf, flags } from '../../../src/config/flags.ts';
import { type ValueKind, parseValue, type Value } from '../../../src/config/values.ts';

describe('parseValue', () => {
  const counts: [string, Value | null][] = [
    ['1', 1],
    ['50', 50],
    [' 7 ', 7],
    ['007', 7],
    ['500k', 500_000],
    ['1.5M', 1_500_000],
    ['0.5', null],
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740992', null],
    ['99999999999999999999', null],
    ['0', null],
    ['-1', null],
    ['+1', null],
    ['1.5', null],
    ['1e3', null],
    ['0x10', null],
    ['1,000', null],
    ['1 000', null],
    ['ten', null],
    ['Infinity', null],
    ['', null],
    [' ', null],
  ];
  const rows: Record<ValueKind, [string, Value | null][]> = {
    notifications: [
      ['desktop', ['desktop']],
      ['say done\nbell', ['say done', 'bell']],
      ['https://example.com/hook', ['https://example.com/hook']],
      ['ntfy:my-topic', ['ntfy:my-topic']],
      ['ntfy:https://ntfy.example.com/topic', ['ntfy:https://ntfy.example.com/topic']],
      ['slack:https://hooks.slack.com/services/T/B/X', ['slack:https://hooks.slack.com/services/T/B/X']],
      ['ftp://example.com/hook', null],
      ['https://', null],
      ['say \0', null],
      ['https://example.com/a b', null],
      ['ntfy:', null],
      ['ntfy:two words', null],
      ['ntfy:https://ntfy.sh/', null],
      ['slack:general', null],
      ['', null],
    ],
    rules: [
      ['Bash(npm test:*)', ['Bash(npm test:*)']],
      ['Edit(src/**)\n mcp__db__* ', ['Edit(src/**)', 'mcp__db__*']],
      ['Bash(a, b)', ['Bash(a, b)']],
      ['Bash(\u0007)', null],
      ['', null],
    ],
    'agent-mode': [
      ['warm', 'warm'],
      [' cold ', 'cold'],
      ['standby', 'standby'],
      ['hot', null],
      ['', null],
    ],
    ladder: [
      ['claude:haiku,claude:opus', 'claude:haiku,claude:opus'],
      [' opencode , codex:gpt ', 'opencode , codex:gpt'],
      ['claude', null],
      ['claude,claude', null],
      ['claude:opus, claude:opus', null],
      ['claude,', null],
      ['claude,-x', null],
      ['', null],
    ],
    events: [
      ['complete', ['complete']],
      ['failed, waiting', ['failed', 'waiting']],
      ['5', null],
      ['complete,done', null],
      ['', null],
    ],
    'duration-above-zero': [
      ['1s', 1000],
      ['0s', null],
      ['0.0ms', null],
      ['unlimited', null],
    ],
    'duration-above-zero-or-unlimited': [
      ['1s', 1000],
      ['0s', null],
      ['unlimited', Infinity],
    ],
    count: [...counts, ['unlimited', null]],
    'count-or-unlimited': [...counts, ['unlimited', Infinity], [' unlimited ', Infinity], ['Unlimited', null]],
    duration: [
      ['500ms', 500],
      ['30s', 30_000],
      ['1.5s', 1500],
      ['5m', 300_000],
      ['2h', 7_200_000],
      ['0s', 0],
      [' 1s ', 1000],
      ['1', null],
      ['s', null],
      ['-1s', null],
      ['.5s', null],
      ['1e3s', null],
      ['1 s', null],
      ['1S', null],
      ['1d', 86_400_000],
      ['1m30s', null],
      ['', null],
      [' ', null],
    ],
    'duration-or-unlimited': [
      ['8h', 28_800_000],
      ['unlimited', Infinity],
      ['never', null],
      ['8', null],
    ],
    'money-or-unlimited': [
      ['5', 5],
      ['2.50', 2.5],
      ['$20', 20],
      ['unlimited', Infinity],
      ['0', null],
      ['-1', null],
      ['5€', null],
      ['', null],
    ],
    'time-of-day': [
      ['07:00', '07:00'],
      ['7:00', '7:00'],
      ['23:59', '23:59'],
      ['24:00', null],
      ['7', null],
      ['7am', null],
      ['07:60', null],
    ],
    names: [
      ['002-01', ['002-01']],
      ['a, b', ['a', 'b']],
      ['a,,b', null],
      ['-x', null],
      ['', null],
    ],
    commands: [
      ['npm test', ['npm test']],
      ['npm test\n npm run lint \n', ['npm test', 'npm run lint']],
      ['', null],
      [' \n ', null],
      ['a\u0007b', null],
    ],
    boolean: [
      ['true', true],
      ['1', true],
      ['false', false],
      ['0', false],
      [' true ', true],
      ['TRUE', null],
      ['yes', null],
      ['', null],
    ],
    text: [
      ['a', 'a'],
      [' a b\n', ' a b\n'],
      ['<x>', '<x>'],
      ['', null],
      [' \n', null],
    ],
    name: [
      ['anthropic/claude-sonnet', 'anthropic/claude-sonnet'],
      [' opencode ', 'opencode'],
      ['--auto', null],
      ['-x', null],
      ['', null],
    ],
    agents: [
      [' opencode ', 'opencode'],
      ['opencode:some/model:free, claude', 'opencode:some/model:free, claude'],
      ['opencode:', 'opencode:'],
      ['opencode:--auto', null],
      ['opencode: --auto', null],
      ['claude,opencode:-x', null],
      ['-x', null],
      ['opencode,', null],
      [':model', null],
      ['opencode:a\u0007b', null],
      ['', null],
    ],
    line: [
      ['ALL\nDONE', null],
      ['\u001b[1mDONE', null],
      ['COMPLETE', 'COMPLETE'],
      ['  ALL DONE ', 'ALL DONE'],
      ['<DONE', null],
      ['DONE>', null],
      ['</promise>', null],
      ['', null],
      [' ', null],
    ],
  };

  describe.each(Object.entries(rows) as [ValueKind, [string, Value | null][]][])('%s', (kind, values) => {
    test.each(values)('%j → %j', (raw, expected) => {
      expect(parseValue(kind, raw)).toEqual(expected);
    });
  });
});

describe('flag and variable names', () => {
  test.each<[FlagName, string, string]>([
    ['change', '--change', 'SPOOL_CHANGE'],
    ['maxIterations', '--max-iterations', 'SPOOL_MAX_ITERATIONS'],
    ['completionPromise', '--completion-promise', 'SPOOL_COMPLETION_PROMISE'],
    ['promptFile', '--prompt-file', 'SPOOL_PROMPT_FILE'],
    ['allowAll', '--allow-all', 'SPOOL_ALLOW_ALL'],
    ['failFast', '--fail-fast', 'SPOOL_FAIL_FAST'],
    ['interactive', '--no-interactive', 'SPOOL_INTERACTIVE'],
    ['commit', '--no-commit', 'SPOOL_COMMIT'],
    ['stream', '--no-stream', 'SPOOL_STREAM'],
  ])('%s is %s and %s', (name, flag, variable) => {
    expect(flagOf(name)).toBe(flag);
    expect(envOf(name)).toBe(variable);
  });

  test('are unique', () => {
    const all = flagNames.flatMap((name) => [
      flagOf(name),
      ...((flags[name] as Flag).aliases?.map((alias) => `--${alias}`) ?? []),
    ]);
    expect(new Set(all).size).toBe(all.length);
    expect(new Set(flagNames.map(envOf)).size).toBe(flagNames.length);
  });
});

const defaults = flagNames.flatMap((name): [FlagName, ValueKind, string][] => {
  const flag: Flag = flags[name];
  return typeof flag.default === 'string' ? [[name, flag.kind, flag.default]] : [];
});

test.each(defaults)('the default of %s is a valid %s: %s', (_, kind, text) => {
  expect(parseValue(kind, text)).not.toBeNull();
});

test.each<FlagName>(['allowAll', 'allowTampering', 'sandboxAllow', 'sandboxWrite'])(
  '%s cannot be set in the config file of a project',
  (name) => {
    expect(canComeFrom('config', name)).toBe(false);
  },
);

test('every help text is in sentence case', () => {
  for (const name of flagNames) expect(flags[name].help).toMatch(/^[A-Z].*[^.]$/);
});
