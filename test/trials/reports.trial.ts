import { inject, test } from 'vitest';
import { checkDamagedReports } from '../support/damaged-reports.ts';
import { report } from '../support/trials.ts';

/** FUZZ_RUNS sets another number. */
const runs = Number(process.env.FUZZ_RUNS ?? 1500);
/** The path of a case that an earlier run printed. */
const path = process.env.FUZZ_PATH;

test(`${runs} damaged or hostile reports of test runners have results or one problem`, async () => {
  await checkDamagedReports({ numRuns: runs, seed: inject('seed'), ...(path === undefined ? {} : { path }) });
  report({
    what: 'twelve reports of seven test runners, mutated: cut off, in other encodings, with hostile names and deep nesting',
    trials: runs,
    found: '0 crashes, 0 hangs',
  });
});
