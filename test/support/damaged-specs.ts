import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { itoTree, kiroTree, noSpool, openSpecTree, specKitTree } from '../fixtures/specs/trees.ts';
import { promise } from './agents.ts';
import { createProject, type Result, type TestProject } from './project.ts';

const approvals = JSON.stringify({ approvals: { design: { approved: false } } });

/** Every file that a reader of another tool's tree opens, with valid content. */
const trees: Readonly<Record<string, { id: string; files: Readonly<Record<string, string>> }>> = {
  openspec: {
    id: 'add-2fa',
    files: {
      ...openSpecTree,
      'openspec/project.md': '# Project\n',
      'openspec/changes/add-2fa/.openspec.yaml': 'schema: mine\n',
      'openspec/schemas/mine/schema.yaml': 'name: mine\napply:\n  tracks: tasks.md\n',
    },
  },
  ito: { id: '001-01_add-invoices', files: itoTree },
  'spec-kit': { id: '001-photo-albums', files: specKitTree },
  kiro: { id: 'dark-mode', files: { ...kiroTree, '.kiro/specs/dark-mode/spec.json': approvals } },
};

const secret = 'the secret of the user';

interface Place {
  readonly path: string;
  readonly text: string;
  readonly home: string;
}

/** What is done to a file. It exists no longer, and its folder does. */
const damages: Readonly<Record<string, (place: Place) => void>> = {
  'an empty file': ({ path }) => writeFileSync(path, ''),
  'a byte order mark': ({ path, text }) => writeFileSync(path, `\ufeff${text}`),
  'CRLF line endings': ({ path, text }) => writeFileSync(path, text.replaceAll('\n', '\r\n')),
  'no text': ({ path }) => writeFileSync(path, Buffer.from([0, 0xff, 0xfe, 0xc0, 0x80, 0x1b, 0x5b, 0x32, 0x4a])),
  'control sequences': ({ path }) =>
    writeFileSync(path, '- [ ] \u001b]0;x\u0007\u202e\u009b2J\r\n### Task \u001b[2J\n'),
  'half of it': ({ path, text }) => writeFileSync(path, text.slice(0, text.length / 2)),
  'YAML of the wrong types': ({ path }) =>
    writeFileSync(
      path,
      'schema: 2020-01-01\ncontext: 12\noperations: [1]\napply: 3\nartifacts: {id: 1}\ninclusion: []\n',
    ),
  'YAML with tags': ({ path }) =>
    writeFileSync(path, 'context: !!js/function "x"\nschema: !!binary "x"\n__proto__: {a: 1}\n'),
  'an alias bomb': ({ path }) => writeFileSync(path, aliasBomb),
  'an alias bomb in the front matter': ({ path }) => writeFileSync(path, `---\n${aliasBomb}---\nText\n`),
  'front matter that does not end': ({ path }) => writeFileSync(path, `---\n${'inclusion: always\n'.repeat(50_000)}`),
  'broken front matter': ({ path }) => writeFileSync(path, '---\n"\u001b[2J: [\n\tx\n---\nText\n'),
  'deep YAML': ({ path }) => writeFileSync(path, `context: ${'['.repeat(200_000)}${']'.repeat(200_000)}\n`),
  'deep YAML in the front matter': ({ path }) =>
    writeFileSync(path, `---\ninclusion: ${'{a: '.repeat(100_000)}\n---\n`),
  'deep JSON': ({ path }) => writeFileSync(path, `{"approvals":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`),
  'JSON of the wrong types': ({ path }) =>
    writeFileSync(path, '{"approvals":{"a":null,"b":3,"c\\u001b[2J":{"approved":false}}}'),
  'the JSON null': ({ path }) => writeFileSync(path, 'null'),
  'many tasks': ({ path }) => writeFileSync(path, '- [ ] a\n'.repeat(100_000)),
  'one long line': ({ path }) => writeFileSync(path, `- [ ] ${'[NEEDS CLARIFICATION '.repeat(40_000)}`),
  '20 MB': ({ path }) => writeFileSync(path, '- [ ] x\n'.repeat((20 * 1024 * 1024) / 8)),
  'no file': () => {},
  'a FIFO': ({ path }) => execFileSync('mkfifo', [path]),
  'a folder': ({ path }) => mkdirSync(path),
  'a link to a file outside': ({ path, home }) => symlinkSync(join(home, 'secret'), path),
  'a link to nothing': ({ path, home }) => symlinkSync(join(home, 'nothing'), path),
  'a link in place of its folder': ({ path, home }) => {
    renameSync(dirname(path), `${dirname(path)}.was`);
    writeFileSync(join(home, 'outside', basename(path)), secret);
    symlinkSync(join(home, 'outside'), dirname(path));
  },
  'a FIFO in place of its folder': ({ path }) => {
    renameSync(dirname(path), `${dirname(path)}.was`);
    execFileSync('mkfifo', [dirname(path)]);
  },
  'names with control characters beside it': ({ path, text }) => {
    writeFileSync(path, text);
    writeFileSync(join(dirname(path), '\u001b[2J\nevil\u202e.md'), '- [ ] x\n');
    mkdirSync(join(dirname(path), '\u001b[2J\r\n--allow-all'));
    writeFileSync(join(dirname(path), '\u001b[2J\r\n--allow-all', 'spec.md'), 'x');
    mkdirSync(join(dirname(dirname(path)), '\u009b2J\nx'), { recursive: true });
    writeFileSync(join(dirname(dirname(path)), '\u009b2J\nx', basename(path)), text);
  },
};

const letters = [...'abcdefghi'];
const aliasBomb = `${letters
  .map(
    (letter, index) =>
      `${letter}: &${letter} [${Array.from({ length: 9 }, () => (index === 0 ? 'x' : `*${letters[index - 1]}`)).join(',')}]`,
  )
  .join(
    '\n',
  )}\ncontext: *i\nschema: *i\noperations: {apply: {guidance: *i}}\napply: {tracks: *i}\nartifacts: *i\ninclusion: *i\n`;

export interface DamagedSpec {
  readonly source: string;
  readonly file: string;
  readonly damage: string;
}

/** Every damage of every file, grouped by file. */
export const damagedSpecs: readonly DamagedSpec[] = Object.entries(trees).flatMap(([source, { files }]) =>
  Object.keys(files)
    .filter((file) => !file.endsWith('.gitkeep'))
    .flatMap((file) => Object.keys(damages).map((damage) => ({ source, file, damage }))),
);

const commandsFor = (id: string): string[][] => [
  ['list'],
  ['list', '--json'],
  ['show', id],
  ['ralph', id, '--max-iterations', '1'],
  ['status', id],
];

const createSpecs = (source: string): TestProject => {
  const project = createProject({ files: { ...noSpool, ...trees[source]!.files }, agent: [promise] });
  writeFileSync(join(project.home, 'secret'), secret);
  mkdirSync(join(project.home, 'outside'));
  return project;
};

/** A command that takes this long hangs, however busy the machine is. */
const hangsMs = 30_000;

const call = async (project: TestProject, args: readonly string[]) => {
  const began = performance.now();
  const started = project.start(args);
  const timer = setTimeout(() => started.kill('SIGKILL'), hangsMs);
  const result = await started.result;
  clearTimeout(timer);
  return { result, ms: Math.round(performance.now() - began) };
};

/** Damages a file, and checks that every command works or prints one line, in time, and that nothing leaks. */
export const checkDamagedSpec = async ({ source, file, damage }: DamagedSpec): Promise<void> => {
  const { id, files } = trees[source]!;
  const project = createSpecs(source);
  const path = project.path(file);
  rmSync(path);
  damages[damage]!({ path, text: files[file]!, home: project.home });

  for (const args of commandsFor(id)) {
    const what = `${damage} in place of ${file}: spool ${args.join(' ')}`;
    const { result, ms } = await call(project, args);
    expect(problemOf(result), what).toBeNull();
    if (ms > (await allowedMs(source, args))) {
      // The machine may have been busy.
      const again = await call(project, args);
      expect(again.ms, what).toBeLessThan(await allowedMs(source, args));
    }
  }
  for (const { prompt } of project.calls()) expect(prompt).not.toContain(secret);
  expect(readFileSync(join(project.home, 'secret'), 'utf8')).toBe(secret);
};

/** Three times the time with valid files, and a second. */
const allowedMs = async (source: string, args: readonly string[]): Promise<number> =>
  1000 + 3 * (await call(createSpecs(source), args)).ms;

/** What is wrong with the result of a command, or null. */
const problemOf = ({ code, signal, stdout, stderr }: Result): string | null => {
  const said = stdout + stderr;
  if (signal !== null) return `hangs: it was ended after ${hangsMs} ms`;
  if (code === 70 || /this is a bug|\n {4}at /.test(said)) return `crashed:\n${stderr.slice(0, 2000)}`;
  if (code === null || code > 4) return `ended with exit code ${code}`;
  const control = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.exec(said);
  if (control) return `printed ${JSON.stringify(said.slice(Math.max(control.index - 40, 0), control.index + 40))}`;
  if (code === 2 && !/(?:^|\n)spool: [^\n]{1,2000}\n$/.test(stderr)) return `no clear line: ${stderr.slice(-500)}`;
  return null;
};

/** Moves the folder of a change away and back all the time, and checks that the commands work or print one line. */
export const checkVanishingSpec = async (source: string): Promise<void> => {
  const { id, files } = trees[source]!;
  const project = createSpecs(source);
  const folder = Object.keys(files)
    .map(dirname)
    .find((name) => basename(name) === id)!;
  const script = `while :; do mv ${folder} gone; mv gone ${folder}; done`;
  const mover = spawn('sh', ['-c', script], { cwd: project.folder, env: project.env, stdio: 'ignore', detached: true });
  try {
    for (const args of [...commandsFor(id), ...commandsFor(id)]) {
      const { result } = await call(project, args);
      expect(problemOf(result), `vanishing files: spool ${args.join(' ')}`).toBeNull();
    }
  } finally {
    process.kill(-mover.pid!, 'SIGKILL');
  }
};

export const sources = Object.keys(trees);
