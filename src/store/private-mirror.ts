import { join } from 'node:path';
import { type Remote } from '../git/remote.ts';
import { openMirror } from '../git/mirror.ts';
import { newPrivateFolder } from './folders.ts';

/** A mirror that only this process uses. It is deleted when Spool exits. Returns the reason as `why` if git fails. */
export const openPrivateMirror = async (
  url: string,
  env: NodeJS.ProcessEnv,
): Promise<Remote | { readonly why: string }> => {
  const folder = newPrivateFolder(env);
  const remote = { mirror: join(folder, 'mirror.git'), url };
  const problem = await openMirror(remote, folder);
  return problem === null ? remote : { why: problem };
};
