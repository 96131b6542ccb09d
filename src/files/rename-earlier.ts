import { statsOf } from './read.ts';
import { renameSafely } from './safe.ts';

/** Makes way for a new file: an earlier one is renamed, such as `0007.log` to `0007.log.1`. Returns `path`. */
export const renameEarlier = (path: string): string => {
  for (let number = 1; statsOf(path); number++)
    if (!statsOf(`${path}.${number}`)) renameSafely(path, `${path}.${number}`);
  return path;
};
