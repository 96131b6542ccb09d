import { describe, expect, test } from 'vitest';
import { commands, groups } from '../../../src/commands/registry.ts';
import { renderHelp } from '../../../src/cli/help.ts';
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
    [['help', 'create', 'change'], 'create change'],
    [['create', '-h'], 'create …'],
    [['create', 'module', '--help'], 'create module'],
    [['ralph', '--unknown', '--help'], 'ralph'],
  ])('%j shows help for %s', (argv, expected) => {
    expect(about(...argv)).toBe(expected);
  });

  test.each([40, 80, 200])('fits %i columns', (columns) => {
    for (const command of [null, 'create', ...commands]) {
      const lines = renderHelp(command, columns).split('\n');
      const wrapped = lines.slice(
        0,
        lines.findIndex((line) => /^(?:Examples|Start with):$/.test(line)),
      );
      // Terms are not wrapped, and the text next to a long term has at least forty columns.
      const widest = Math.max(...wrapped.map((line) => line.length));
      expect(widest).toBeLessThanOrEqual(Math.max(columns, 80));
    }
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
  [['ralf'], `Unknown command 'ralf' (did you mean ralph?). See "spool --help".`],
  [['help', 'nothing'], `Unknown command 'nothing'. See "spool --help".`],
  [['create'], `Missing subcommand for 'create': module or change. See "spool create --help".`],
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
