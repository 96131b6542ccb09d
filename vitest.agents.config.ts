import { defineConfig } from 'vitest/config';

/** `npm run test:agents`: the real agent CLIs. They wait for their own retries most of the time. */
export default defineConfig({
  test: { include: ['test/agents/*.test.ts'], testTimeout: 300_000, hookTimeout: 60_000, maxWorkers: 4 },
});
