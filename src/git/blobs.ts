import { git } from './call/git.ts';
import { noFetch } from './call/inert.ts';

/** Returns the contents of blobs by id, in one call. Those that do not exist, or are too large, are missing. */
export const readBlobs = async (cwd: string, ids: readonly string[]): Promise<ReadonlyMap<string, Buffer>> => {
  const sizes = await batch(cwd, '--batch-check', ids);
  const small = sizes.split('\n').flatMap((line) => {
    const [, id, size] = /^(\w+) blob (\d+)$/.exec(line) ?? [];
    return id !== undefined && Number(size) <= maxBlob ? [id] : [];
  });
  const contents = await batch(cwd, '--batch', small);
  const found = new Map<string, Buffer>();
  for (let at = 0; at < contents.length;) {
    const end = contents.indexOf('\n', at);
    const [, id, size] = /^(\w+) blob (\d+)$/.exec(contents.slice(at, end)) ?? [];
    if (end === -1 || id === undefined) break;
    const start = end + 1;
    found.set(id, Buffer.from(contents.slice(start, start + Number(size)), 'latin1'));
    at = start + Number(size) + 1;
  }
  return found;
};

/** Returns the ids of blobs that do not exist. */
export const missingBlobs = async (cwd: string, ids: readonly string[]): Promise<string[]> =>
  (await batch(cwd, '--batch-check', ids)).split('\n').flatMap((line) => /^(\w+) missing$/.exec(line)?.[1] ?? []);

/** In bytes. No source that people write is larger. */
const maxBlob = 1024 * 1024;

const batch = async (cwd: string, mode: '--batch' | '--batch-check', ids: readonly string[]): Promise<string> => {
  if (ids.length === 0) return '';
  const { stdout } = await git(['cat-file', mode], { cwd, env: noFetch, input: ids.map((id) => `${id}\n`).join('') });
  return stdout;
};
