import { describe, expect, test } from 'vitest';
import { guesses } from '../../../src/commands/registry/guesses.ts';
import { commands, groups } from '../../../src/commands/registry/registry.ts';
import { flagHeadings, optionFlag } from '../../../src/config/flags.ts';
import { renderHelp } from '../../../src/cli/help.ts';
import { widthOf } from '../../../src/text/format.ts';
import { parse } from '../../../src/cli/parse.ts';

const call = (...argv: string[]) => {
  const parsed = parse(argv);
  if (parsed.kind !== 'call') throw new Error(`parsed as ${parsed.kind}`);
  return { command: parsed.command.name, ...parsed.given };
};

const about = (...argv: string[]) => {
  const parsed = parse(argv);
  if (parsed.kind !== 'help') throw new Error(`parsed as ${parsed.kind}`);
  return typeof parsed.about === 'object' ? (parsed.about?.name ?? 'all') : `${parsed.about} …`;
};

describe('parses arguments', () => {
  test.each([
    [['ralph'], { command: 'ralph', args: [], rawFlags: {} }],
    [['loop', 'Go.'], { command: 'ralph', args: ['Go.'] }],
    [['ralph', '--agent', 'claude'], { rawFlags: { harness: 'claude' } }],
    [['agents', '--json'], { command: 'harnesses', rawFlags: { json: true } }],
    [['config'], { command: 'config', rawFlags: {} }],
    [['config', '--json'], { command: 'config', rawFlags: { json: true } }],
    [['config', 'get', '--json'], { command: 'config get' }],
    [['ralph', '--change', '002-01', 'Go.'], { args: ['Go.'], rawFlags: { change: ['002-01'] } }],
    [['ralph', 'Go.', '--change=002-01'], { args: ['Go.'], rawFlags: { change: ['002-01'] } }],
    [['ralph', '--change', 'a', '--change', 'b'], { rawFlags: { change: ['a', 'b'] } }],
    [['ralph', '--model', 'a', '--model', 'b'], { rawFlags: { model: 'b' } }],
    [['ralph', '--no-commit', '--no-stream'], { rawFlags: { commit: false, stream: false } }],
    [['ralph', '--yolo'], { rawFlags: { allowAll: true } }],
    [['ralph', '--model='], { rawFlags: { model: '' } }],
    [['ralph', '--add-context', '--help me'], { rawFlags: { addContext: '--help me' } }],
    [['ralph', '--add-context', '-5'], { rawFlags: { addContext: '-5' } }],
    [['ralph', '--', '--change'], { args: ['--change'], rawFlags: {} }],
    [['ralph', '--', '-h'], { args: ['-h'] }],
    [['ralph', ''], { args: [''] }],
    [['create', 'change', 'x', '--module', '001'], { command: 'create change', args: ['x'] }],
    [['diff', '002-01', '0..7', '--stat'], { args: ['002-01', '0..7'], rawFlags: { stat: true } }],
  ])('%j', (argv, expected) => {
    expect(call(...argv)).toMatchObject(expected);
  });
});

describe('help', () => {
  test.each([
    [[], 'all'],
    [['--help'], 'all'],
    [['-h'], 'all'],
    [['help'], 'all'],
    [['help', 'help'], 'all'],
    [['help', '--help'], 'all'],
    [['help', 'ralph'], 'ralph'],
    [['help', 'loop'], 'ralph'],
    [['help', 'create'], 'create …'],
    [['create'], 'create …'],
    [['help', 'create', 'change'], 'create change'],
    [['create', '-h'], 'create …'],
    [['create', 'module', '--help'], 'create module'],
    [['ralph', '--unknown', '--help'], 'ralph'],
  ])('%j shows help for %s', (argv, expected) => {
    expect(about(...argv)).toBe(expected);
  });

  test.each([40, 50, 80, 200])('fits %i columns', (columns) => {
    for (const about of [null, ...Object.keys(groups), ...commands])
      for (const isFull of [false, true]) {
        const [help = ''] = renderHelp({ about, isFull }, columns).split(/^(?:Examples|Help for a command):$/m);
        expect(help.split('\n').filter((line) => widthOf(line) > columns)).toEqual([]);
      }
  });

  test('lists every command below a heading', () => {
    const help = renderHelp({ about: null, isFull: false }, 80);
    expect([...help.matchAll(/^(\S.*):$/gm)].map((match) => match[1])).toEqual([
      'Run',
      'Inspect',
      'Steer',
      'Finish',
      'Many machines',
      'Set up',
      'Options',
      'Help for a command',
      'Start with',
    ]);
    const listed = [...help.matchAll(/^ {2}([a-z]+)(?:,? .*)? {2}\S/gm)].map((match) => match[1]);
    const words = commands.map(({ name }) => name.split(' ')[0]);
    expect(listed.toSorted()).toEqual([...new Set(words)].toSorted());
  });

  test('for ralph describes ten options and names the others; --all describes all of them', () => {
    const ralph = commands.find(({ name }) => name === 'ralph')!;
    const short = renderHelp({ about: ralph, isFull: false }, 80);
    const full = renderHelp({ about: ralph, isFull: true }, 80);
    const described = (help: string) =>
      ralph.options.filter(({ help: text }) => help.replaceAll(/\s+/g, ' ').includes(text.replaceAll(/\s+/g, ' ')));
    expect(described(short)).toHaveLength(10);
    expect(described(full)).toHaveLength(ralph.options.length);
    for (const option of ralph.options) expect(short).toMatch(new RegExp(`${optionFlag(option)}(?![\\w-])`));
    expect(short).toContain('spool ralph --help --all');
    expect(full.match(/^\S.*:$/gm)).toEqual([
      'Arguments:',
      ...flagHeadings.map((each) => `${each}:`),
      'Help:',
      'Examples:',
    ]);
  });

  test.each([
    [['ralph', '--help'], false],
    [['ralph', '--help', '--all'], true],
    [['ralph', '--all', '-h'], true],
    [['help', 'ralph', '--all'], true],
  ])('%j is full: %s', (argv, isFull) => {
    expect(parse(argv)).toMatchObject({ kind: 'help', about: { name: 'ralph' }, isFull });
  });
});

test('a sentence that begins with a dash is no help, but may be a value or follow --', () => {
  expect(() => parse(['ralph', '- fix the path'])).toThrow(
    "Unknown option '- fix the path'. To pass it as an argument",
  );
  expect(parse(['ralph', '--', '- fix the path'])).toMatchObject({ given: { args: ['- fix the path'] } });
  expect(parse(['ralph', '--add-context', '- use the path'])).toMatchObject({
    given: { rawFlags: { addContext: '- use the path' } },
  });
});

test.each(commands.map((command) => [command.name, command] as const))(
  'the help of %s names every option',
  (_, about) => {
    for (const isFull of [false, true])
      for (const option of about.options) expect(renderHelp({ about, isFull }, 80)).toContain(optionFlag(option));
  },
);

test.each([
  [50, ['  spool ralph --file docs/plans/login.md \\', '    --require-tasks']],
  [200, ['  spool ralph --file docs/plans/login.md --require-tasks']],
])('at %i columns an example is broken only between its arguments', (columns, expected) => {
  const about = commands.find(({ name }) => name === 'ralph')!;
  const text = renderHelp({ about, isFull: true }, columns);
  expect(text).toContain(`\n${expected.join('\n')}\n`);
  const copied = text.replaceAll(/ \\\n +/g, ' ');
  for (const example of about.examples) expect(copied).toContain(`\n  ${example}\n`);
  expect(text.split('\n').filter((line) => line.length > columns)).toEqual([]);
});

describe('commands of other tools', () => {
  test.each(Object.entries(guesses))('%s is answered with %s', (guess, meant) => {
    expect(() => parse([guess])).toThrow(
      `Unknown command '${guess}' (did you mean "spool ${meant}"?). See "spool --help".`,
    );
    // The command exists, with its arguments if it needs any.
    expect(() => parse([...meant.split(' '), '--help'])).not.toThrow();
    expect(commands.flatMap(({ name, alias }) => [name, alias])).not.toContain(guess);
  });
});

test('every summary and option help is in sentence case', () => {
  const texts = commands.flatMap(({ summary, positionals, options }) => [
    summary,
    ...[...positionals, ...options].map(({ help }) => help),
  ]);
  for (const text of [...texts, ...Object.values(groups)]) expect(text).toMatch(/^[A-Z].*[^.]$/);
});

test.each([
  [['-x'], `Unknown option '-x'. See "spool --help".`],
  [['--hlp'], `Unknown option '--hlp' (did you mean --help?). See "spool --help".`],
  [['ralf'], `Unknown command 'ralf' (did you mean "spool ralph"?). See "spool --help".`],
  [['help', 'nothing'], `Unknown command 'nothing'. See "spool --help".`],
  [['create', 'modul'], `Unknown command 'modul' (did you mean module?). See "spool create --help".`],
  [
    ['list', 'x'],
    `Too many arguments for 'list'. Expected 0 arguments but got 1; quote arguments that contain spaces. See "spool list --help".`,
  ],
  [['show'], `Missing required argument 'id'. See "spool show --help".`],
  [['rewind', '002-01'], `Missing required argument 'n'. See "spool rewind --help".`],
  [['ralph', '--status=x'], `Unknown option '--status=x' (did you mean --status?). See "spool ralph --help".`],
  [['ralph', '--commit'], `Unknown option '--commit' (did you mean --no-commit?). See "spool ralph --help".`],
  [['ralph', '--change'], `Option '--change <id>' needs a value. See "spool ralph --help".`],
  [['ralph', '-abc'], `Unknown option '-a'. See "spool ralph --help".`],
])('%j is a usage error', (argv, message) => {
  expect(() => parse(argv)).toThrow(expect.objectContaining({ message, exitCode: 2 }) as Error);
});
