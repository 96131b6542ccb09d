import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These take minutes: npm run test:agents
    exclude: ['test/agents/**'],
    provide: { areTrials: false },
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // Tests wait for child processes most of the time.
    maxWorkers: 4,
    reporters: ['default'],
  },
});
