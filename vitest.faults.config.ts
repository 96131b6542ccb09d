import { defineConfig } from 'vitest/config';

/** What can go wrong, many times and at random moments. `SEED=1234 npm run test:faults` repeats a run. */
export default defineConfig({
  test: {
    // These three are run by an ordinary user in the suite, and by the superuser here.
    include: ['test/trials/**/*.trial.ts', 'test/sandbox/{escapes,links,opencode}.test.ts'],
    provide: { areTrials: true },
    globalSetup: 'test/support/trials-setup.ts',
    testTimeout: 600_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
    reporters: ['default'],
  },
});
