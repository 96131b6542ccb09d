import { statfsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** Memory that is a folder. Many tests wait for fsync more than for anything else; the trials go to the disk. */
const inMemory = (): Record<string, string> => {
  const folder = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > 4 * 1024 ** 3 ? { TMPDIR: folder } : {};
  } catch {
    return {};
  }
};

/** Pure modules, which share no state. */
const pure = ['test/unit/**/*.test.ts', 'test/docs/**/*.test.ts'];

/** A sandbox has its own /dev. */
const sandboxed = ['test/sandbox/**/*.test.ts', 'test/commands/doctor.test.ts', 'test/package/**/*.test.ts'];

export default defineConfig({
  define: { SPOOL_VERSION: '"test"' },
  test: {
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // Tests wait for child processes most of the time.
    maxWorkers: 4,
    reporters: ['default'],
    provide: { areTrials: false },
    projects: [
      {
        extends: true,
        test: {
          name: 'memory',
          include: ['test/**/*.test.ts'],
          // The agents take minutes: npm run test:agents
          exclude: ['test/agents/**', ...pure, ...sandboxed],
          env: inMemory(),
        },
      },
      // One process loads each module once, instead of once for every file of tests.
      { extends: true, test: { name: 'unit', include: pure, isolate: false, env: inMemory() } },
      { extends: true, test: { name: 'disk', include: sandboxed } },
    ],
  },
});
