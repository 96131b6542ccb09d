import * as fc from 'fast-check';
import { expect } from 'vitest';
import { readReport } from '../../src/proof/reports/read-report.ts';
import { mutate, mutationsOf } from './mutations.ts';
import { formatOfReport, recordedReports } from './reports.ts';

/** CPU time that a damaged report may take. All of them are small, unless a mutation adds two million characters. */
const maxMs = 10_000;

const damaged = fc.constantFrom(...recordedReports()).chain((report) =>
  fc.record({
    report: fc.constant(report),
    mutations: fc.array(mutationsOf(formatOfReport(report.name)), { minLength: 1, maxLength: 4 }),
    // A file may have another name, or be the output of a command.
    name: fc.constantFrom(report.name, 'report.xml', 'output'),
  }),
);

/** Reads reports of real runners with hostile contents. Each has results within bounds, or one problem. */
export const checkDamagedReports = async (options: Pick<fc.Parameters, 'numRuns' | 'seed' | 'path'>): Promise<void> => {
  await fc.assert(
    fc.asyncProperty(damaged, async ({ report, mutations, name }) => {
      const bytes = mutate(report.bytes, formatOfReport(report.name), mutations);
      const start = process.cpuUsage();
      const found = await readReport(bytes, name);
      expect(process.cpuUsage(start).user / 1000).toBeLessThan(maxMs);
      expect(Object.prototype).not.toHaveProperty('polluted');
      if (found.kind === 'problem') expect(found.message).toMatch(/^[^\n]{1,300}\.$/);
      if (found.kind !== 'results') return;
      for (const { names, title, message, durationMs } of found.results) {
        expect(title).toBe(names.join(' > '));
        expect(message?.length ?? 0).toBeLessThanOrEqual(2000);
        expect(durationMs === null || (durationMs >= 0 && durationMs < Infinity)).toBe(true);
      }
    }),
    options,
  );
};
