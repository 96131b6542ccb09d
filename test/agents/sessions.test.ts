import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { measureSessions } from '../../bench/sessions.mjs';
import { recycleLimits } from '../../src/harness/acp/recycle.ts';

test(
  'opencode, warm: 30 sessions in a row use no more descriptors, and no more memory than the limit',
  { timeout: 1_200_000 },
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'spool-test-'));
    onTestFinished(() => rmSync(base, { recursive: true, force: true, maxRetries: 5 }));

    const samples = await measureSessions(base, 30);

    expect(samples.map(({ session }) => session)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    for (const id of new Set(samples.map((sample) => sample.process))) {
      const each = samples.filter((sample) => sample.process === id);
      // A new process after this many sessions, at the latest.
      expect(each.length).toBeLessThanOrEqual(recycleLimits.iterations);
      // A leak leads to a new maximum in every session. Connections, which are kept for later, come in a few of them.
      const descriptors = each.map((sample) => sample.descriptors);
      const maxima = descriptors.filter((count, at) => count > Math.max(0, ...descriptors.slice(0, at)));
      expect(maxima.length, descriptors.join(', ')).toBeLessThanOrEqual(Math.max(5, each.length / 2));
      // Of all but the last session: the limit applies between two of them.
      for (const { memoryMb } of each.slice(0, -1))
        expect(memoryMb * 1024 * 1024).toBeLessThan(recycleLimits.memoryBytes);
    }
  },
);
