import { dirname, join } from 'node:path';
import { constants, Script } from 'node:vm';
import type { CodeCache } from './code-cache.ts';
import { readFile } from './read-file.ts';
import type { StoredCode } from './stored-code.ts';

interface LoadedFile {
  readonly path: string;
  readonly source: Buffer;
  readonly script: Script;
  /** null if V8 had to compile the file. */
  readonly stored: Pick<StoredCode, 'writes' | 'size'> | null;
}

type Factory = (
  exports: object,
  require: (id: string) => unknown,
  module: object,
  file: string,
  folder: string,
) => void;

/**
 * Returns a function that loads a file of the program, like `require`. Files get their compiled code from the cache.
 * What was compiled is stored when the process exits, because V8 compiles a function when it is first called. Node's own
 * loader is not changed: it is asked for the modules of Node.
 */
export const createLoader = (cache: CodeCache): ((path: string) => unknown) => {
  const modules = new Map<string, { exports: object }>();
  const loaded: LoadedFile[] = [];

  const load = (path: string): unknown => {
    const known = modules.get(path);
    if (known) return known.exports;
    // Hundreds of exports are added to a plain object in half a millisecond, to one without a prototype in a tenth of that.
    const module = { exports: Object.create(null) as object };
    modules.set(path, module);
    const file = compile(path, cache);
    loaded.push(file);
    const folder = dirname(path);
    const requireFrom = (id: string): unknown => (id.startsWith('.') ? load(join(folder, id)) : require(id));
    (file.script.runInThisContext() as Factory)(module.exports, requireFrom, module, path, folder);
    return module.exports;
  };

  if (cache.isWritable) process.once('exit', () => storeAll(loaded, cache));
  return load;
};

/** The wrapper of Node's own loader. */
const before = Buffer.from('(function (exports, require, module, __filename, __dirname) { ');
const after = Buffer.from('\n})');

const compile = (path: string, cache: CodeCache): LoadedFile => {
  const source = readFile(path);
  if (source === null) throw new Error(`${path} was changed while Spool started. Try again.`);
  const stored = cache.read(path, source);
  const script = new Script(Buffer.concat([before, source, after]).toString(), {
    filename: path,
    // The program is on the first line, and stack traces have the columns of the file.
    columnOffset: -before.length,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(stored && { cachedData: stored.code }),
  });
  const isUsed = stored !== null && script.cachedDataRejected === false;
  return { path, source, script, stored: isUsed ? { writes: stored.writes, size: stored.size } : null };
};

/** So many processes add the functions that they needed to the stored code of a file. */
const earlyWrites = 8;

/** A process that took longer than this, like most runs, may take some milliseconds more. */
const longSeconds = 60;

/** What a long process must add to be stored, as a share of what is stored. */
const worthStoring = 1.1;

const storeAll = (loaded: readonly LoadedFile[], cache: CodeCache): void => {
  const isLong = process.uptime() > longSeconds;
  const files = loaded.filter(({ stored }) => stored === null || stored.writes < earlyWrites || isLong);
  if (files.length === 0) return;
  cache.write(function* () {
    for (const { path, source, script, stored } of files) {
      const code = script.createCachedData();
      const isWorth = stored === null || stored.writes < earlyWrites || code.length > stored.size * worthStoring;
      if (isWorth) yield { path, source, code, writes: (stored?.writes ?? 0) + 1 };
    }
  });
};
