import { join } from 'node:path';
import { openCodeCache } from './code-cache.ts';
import { createLoader } from './loader.ts';

/** dist/spool.cjs, the file that Node is started with. It contains only what loads the program. */

interface Program {
  readonly start: () => Promise<void>;
}

const loadProgram = (): Program => {
  const cache = openCodeCache(__dirname);
  const load = cache === null ? require : createLoader(cache);
  return load(join(__dirname, 'main.cjs')) as Program;
};

void loadProgram().start();
