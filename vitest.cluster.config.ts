import { defineConfig } from 'vitest/config';

/** Many workers and what can go wrong between them. `SEED=1234 npm run test:cluster` repeats a run, `SEEDS=20` does twenty. */
export default defineConfig({
  test: {
    include: ['test/cluster-trials/**/*.trial.ts'],
    testTimeout: 900_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
    reporters: ['default'],
  },
});
