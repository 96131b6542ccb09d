import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { unpackCode } from '../../src/launch/stored-code.ts';
import { root, startProcess } from '../support/project.ts';

/** The compiled code that is stored beside the program. */

const otherUser = 12_345;
const isSuperuser = process.getuid?.() === 0;

/** A copy of the program, without stored code. */
const installProgram = () => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-code-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // Another user can run it.
  chmodSync(folder, 0o755);
  const dist = join(folder, 'dist');
  cpSync(join(root, 'dist'), dist, { recursive: true, filter: (path) => !/[/\\](?:cache|web|types)$/.test(path) });
  const cache = join(dist, 'cache');
  const stored = (key = `${process.version}-${process.platform}-${process.arch}`) => join(cache, key);
  const env = { PATH: process.env.PATH, HOME: folder };
  return {
    dist,
    cache,
    stored,
    /** Runs it, and expects that nothing can be seen of the cache. */
    help: async (more: Record<string, string> = {}) => {
      const program = join(dist, 'spool.cjs');
      const result = await startProcess(process.execPath, [program, '--help'], {
        cwd: folder,
        env: { ...env, ...more },
      }).result;
      expect(result).toEqual({ code: 0, signal: null, stdout: expect.stringContaining('spool ralph'), stderr: '' });
    },
    shell: (script: string, options: { uid?: number } = {}) =>
      execFileSync('sh', ['-c', script, process.execPath, join(dist, 'spool.cjs')], {
        cwd: '/',
        env,
        encoding: 'utf8',
        ...options,
      }),
    /** How many processes have stored code of each file. Fails if a file is damaged, or a temporary one is left. */
    writes: (key?: string) =>
      Object.fromEntries(
        readdirSync(stored(key)).map((name) => {
          const path = [dist, join(dist, 'chunks')]
            .map((each) => join(each, basename(name, '.bin')))
            .find((each) => existsSync(each));
          const code = unpackCode(readFileSync(join(stored(key), name)), readFileSync(path!));
          return [name.replace(/(-[\w-]{8})?\.cjs\.bin$/, ''), code!.writes];
        }),
      ),
    /** The stored code of the largest file that `--help` needs. */
    words: () =>
      join(
        stored(),
        readdirSync(stored()).find((name) => name.startsWith('words-') && name.endsWith('.bin'))!,
      ),
  };
};

test('code is stored by the first starts, and used and completed by the next', async () => {
  const program = installProgram();
  await program.help();
  expect(program.writes()).toMatchObject({ main: 1, words: 1, help: 1 });
  const { mode } = lstatSync(program.words());
  expect(mode & 0o777).toBe(0o644);

  // Code that V8 rejects is replaced, and its count starts again.
  await program.help();
  expect(program.writes()).toMatchObject({ main: 2, words: 2, help: 2 });

  for (const name of readdirSync(program.stored())) {
    const path = join(program.stored(), name);
    const bytes = readFileSync(path);
    bytes.writeUInt32LE(8, 4);
    writeFileSync(path, bytes);
  }
  await program.help();
  expect(program.writes()).toMatchObject({ main: 8, words: 8, help: 8 });

  // A file of the program with other contents, of the same length.
  const main = join(program.dist, 'main.cjs');
  const text = readFileSync(main, 'utf8');
  writeFileSync(main, text.replace('"0.1.0"', '"9.9.9"').replace('`0.1.0`', '`9.9.9`'));
  expect(program.shell('"$0" "$1" --version')).toBe('9.9.9\n');
  expect(program.writes()).toMatchObject({ main: 1, words: 8 });
});

test('stored code that is damaged, cut off or of another Node is replaced', async () => {
  const program = installProgram();
  await program.help();
  const path = program.words();
  const good = readFileSync(path);
  const { length } = good;
  const flipped = (at: number) => {
    const bytes = Buffer.from(good);
    bytes[at]! ^= 0x55;
    return bytes;
  };
  const other = Buffer.from(good);
  const start = 16 + other.readUInt32LE(8);
  // V8 stores its version and its options at the beginning of each copy.
  for (const copy of [start, start + other.readUInt32LE(12)]) other.writeUInt32LE(1, copy + 4);

  const contents = [Buffer.alloc(0), good.subarray(0, 10), good.subarray(0, length / 2), good.subarray(0, length - 1)];
  const zeros = Buffer.concat([good.subarray(0, start + 64), Buffer.alloc(length - start - 64)]);
  for (const bytes of [...contents, flipped(start + 24), flipped(length - 1000), Buffer.alloc(length), zeros, other]) {
    writeFileSync(path, bytes);
    await program.help();
    expect(program.writes()).toMatchObject({ words: 1 });
  }
});

test('what is planted in place of stored code is neither followed nor waited for', async () => {
  const program = installProgram();
  await program.help();
  const path = program.words();
  const good = join(dirname(program.dist), 'good.bin');
  cpSync(path, good);

  rmSync(path);
  symlinkSync(good, path);
  await program.help();
  expect(lstatSync(path).isFile()).toBe(true);
  expect(program.writes()).toMatchObject({ words: 1 });
  expect(readFileSync(good)[4]).toBe(1);

  rmSync(path);
  execFileSync('mkfifo', [path]);
  await program.help();
  expect(program.writes()).toMatchObject({ words: 1 });

  // Anyone could have written it.
  chmodSync(path, 0o666);
  await program.help();
  expect(lstatSync(path).mode & 0o777).toBe(0o644);
  expect(program.writes()).toMatchObject({ words: 1 });

  rmSync(path);
  mkdirSync(path);
  await program.help();
  expect(readdirSync(program.stored()).filter((name) => name.endsWith('.tmp'))).toEqual([]);

  // A link in place of the folder.
  rmSync(program.cache, { recursive: true });
  const elsewhere = join(dirname(program.dist), 'elsewhere');
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, program.cache);
  await program.help();
  expect(readdirSync(elsewhere)).toEqual([]);
});

test('a process that was killed while it stored code leaves nothing for long', async () => {
  const program = installProgram();
  await program.help();
  const temporary = `${program.words()}.tmp`;
  const before = program.writes();
  writeFileSync(temporary, 'part');
  await program.help();
  // It may belong to a process that still writes.
  expect(readFileSync(temporary, 'utf8')).toBe('part');
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(temporary, hourAgo, hourAgo);
  await program.help();
  expect(existsSync(temporary)).toBe(false);
  expect(program.writes()).toEqual({ ...before, main: 3, help: 3, 'rolldown-runtime': 3 });
});

test('processes that start at the same time do not disturb each other', async () => {
  const program = installProgram();
  await Promise.all(Array.from({ length: 6 }, () => program.help()));
  expect(program.writes()).toMatchObject({ main: expect.any(Number), words: expect.any(Number) });
});

test('a full disk is no error, and leaves no part of a file', () => {
  const program = installProgram();
  // Files of at most 8 KB.
  expect(program.shell('ulimit -f 16; "$0" "$1" --help 2>&1')).toContain('spool ralph');
  expect(program.writes()).not.toHaveProperty('words');
});

test.skipIf(!isSuperuser)('a process of another user than the owner uses stored code, and stores none', () => {
  const program = installProgram();
  const asOther = () => program.shell('"$0" "$1" --help 2>&1', { uid: otherUser });
  expect(asOther()).toContain('spool ralph');
  expect(existsSync(program.cache)).toBe(false);
  program.shell('"$0" "$1" --help');
  const before = program.writes();
  expect(asOther()).toContain('spool ralph');
  expect(program.writes()).toEqual(before);

  // The superuser could write to the folder of a user.
  rmSync(program.cache, { recursive: true });
  chownSync(program.dist, otherUser, otherUser);
  expect(program.shell('"$0" "$1" --help 2>&1')).toContain('spool ralph');
  expect(existsSync(program.cache)).toBe(false);
  expect(asOther()).toContain('spool ralph');
  expect(lstatSync(program.words()).uid).toBe(otherUser);
});

test('a program in a folder that its owner cannot write works', () => {
  const program = installProgram();
  chmodSync(program.dist, 0o555);
  // The superuser could write to it nevertheless.
  if (isSuperuser) chownSync(program.dist, otherUser, otherUser);
  expect(program.shell('"$0" "$1" --help 2>&1', isSuperuser ? { uid: otherUser } : {})).toContain('spool ralph');
  chmodSync(program.dist, 0o755);
  expect(existsSync(program.cache)).toBe(false);
});

test('options of Node have separate stored code or none, and old code is removed', async () => {
  const program = installProgram();
  program.shell('cd "$HOME" && "$0" --cpu-prof "$1" --help');
  await program.help({ NODE_OPTIONS: '--enable-source-maps' });
  await program.help({ NODE_V8_COVERAGE: join(dirname(program.dist), 'coverage') });
  await program.help({ NODE_DISABLE_COMPILE_CACHE: '1' });
  expect(existsSync(program.cache)).toBe(false);

  for (const size of [300, 301, 302, 303]) await program.help({ NODE_OPTIONS: `--max-old-space-size=${size}` });
  await program.help({ NODE_OPTIONS: '--max-old-space-size=303' });
  const [key] = readdirSync(program.cache).toSorted();
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(join(program.cache, key!), hourAgo, hourAgo);
  await program.help();
  expect(readdirSync(program.cache)).toHaveLength(4);
  expect(readdirSync(program.cache)).not.toContain(key);
  const kept = readdirSync(program.cache).find((name) => name.endsWith('=303'));
  expect(program.writes(kept)).toMatchObject({ main: 2 });
});

test('stack traces are the same with and without stored code', async () => {
  const program = installProgram();
  const main = join(program.dist, 'main.cjs');
  const text = readFileSync(main, 'utf8');
  const broken = text.replace('.printResult(', '.printResult(process.env.BREAK?null.missing:');
  expect(broken).not.toBe(text);
  writeFileSync(main, broken);
  const script = (variables: string) => `${variables} "$0" "$1" --version 2>&1 || true`;
  program.shell(script(''));
  const compiled = program.shell(script('BREAK=1'));
  const stored = program.shell(script('BREAK=1'));
  expect(program.writes()).toMatchObject({ main: 3 });
  expect(compiled).toMatch(/main\.cjs:\d+:\d+/);
  expect(stored).toBe(compiled);
  const plain = program.shell(script('BREAK=1 NODE_DISABLE_COMPILE_CACHE=1'));
  const ownFrames = (output: string) => output.split('\n').filter((line) => !/spool\.cjs|node:internal/.test(line));
  expect(ownFrames(stored)).toEqual(ownFrames(plain));
});

test('the library stores nothing, and changes no loader', () => {
  const program = installProgram();
  const check = `
    const { Module } = require('node:module');
    const before = [Module._load, Module.prototype._compile, Module._extensions['.js'], process.listenerCount('exit')];
    require(process.argv[1]);
    const after = [Module._load, Module.prototype._compile, Module._extensions['.js'], process.listenerCount('exit')];
    console.log(before.every((value, index) => value === after[index]), Object.keys(Module._extensions).join(' '));`;
  const env = { PATH: process.env.PATH };
  const args = ['--eval', check, join(program.dist, 'index.cjs')];
  expect(execFileSync(process.execPath, args, { env, encoding: 'utf8' })).toBe('true .js .json .node\n');
  expect(existsSync(program.cache)).toBe(false);
});
