/** Returns what `ps` prints, for systems without /proc; null if it fails. Waits for it. */
export const psOutput = (...args: string[]): string | null => {
  try {
    // Loaded only when needed, because it slows down the start of Spool.
    const { execFileSync } = process.getBuiltinModule('node:child_process');
    return execFileSync('ps', args, { encoding: 'utf8', env: { LC_ALL: 'C' } });
  } catch {
    return null;
  }
};
