import { defineConfig } from 'vitest/config';

/** What can go wrong, many times and at random moments. `SEED=1234 npm run test:faults` repeats a run. */
export default defineConfig({
  test: {
    include: ['test/trials/**/*.trial.ts', 'test/faults/**/*.test.ts'],
    globalSetup: 'test/support/trials-setup.ts',
    testTimeout: 600_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
    reporters: ['default'],
  },
});
