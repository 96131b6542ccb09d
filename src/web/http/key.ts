import { randomBytes, createHash } from 'node:crypto';
import { join } from 'node:path';
import { createFolder } from '../../files/folders.ts';
import { userFolder } from '../../files/home.ts';
import { readSafely, replaceSafely } from '../../files/safe.ts';
import type { Project } from '../../store/project.ts';

const keyBytes = 32;

/**
 * The key with which the cookies of a project are signed, from the user's state folder, where only the user can read it. If
 * it cannot be saved there, the key is valid until the server ends.
 */
export const loadKey = (project: Project, env: NodeJS.ProcessEnv): Buffer => {
  const name = createHash('sha256').update(project.root).digest('hex').slice(0, 32);
  const folder = join(userFolder(env), 'web');
  const file = join(folder, `${name}.key`);
  const created = randomBytes(keyBytes);
  try {
    const saved = readSafely(file);
    if (saved?.length === keyBytes) return saved;
    createFolder(folder);
    replaceSafely(file, created);
  } catch {
    // Pages must sign in again when the server is started again.
  }
  return created;
};
