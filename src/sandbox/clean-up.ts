import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userFolder } from '../files/home.ts';

/**
 * Cleans up after sandboxes that were killed, before git could use what was planted in one. Returns a line for each
 * thing that it found. Imports the rest only if there was ever a sandbox.
 */
export const cleanUpSandboxes = async (env: NodeJS.ProcessEnv): Promise<string[]> => {
  if (!existsSync(join(userFolder(env), 'sandbox'))) return [];
  const { quarantineLeftovers } = await import('./leftover.ts');
  return quarantineLeftovers(env);
};
