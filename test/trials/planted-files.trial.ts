import { test } from 'vitest';
import { forEachConcurrent } from '../support/concurrency.ts';
import {
  plantedByAgent,
  plantedBetweenCalls,
  checkPlantedByAgent,
  checkPlantedBetweenCalls,
} from '../support/planted-files.ts';
import { report } from '../support/trials.ts';

const nothing = 'nothing outside written or created, 0 crashes';

test('links, hard links and FIFOs that an agent creates in place of all files that Spool writes have no effect outside', async () => {
  await forEachConcurrent(plantedByAgent, 4, checkPlantedByAgent);
  report({
    what: 'a link, hard link or FIFO that an agent creates in place of a file that Spool writes',
    trials: plantedByAgent.length,
    found: nothing,
  });
});

test('links, hard links and FIFOs created between two calls have no effect outside', async () => {
  await forEachConcurrent(plantedBetweenCalls, 4, checkPlantedBetweenCalls);
  report({
    what: 'a link, hard link or FIFO created there between two calls, the second of which resumes, sets up or lands',
    trials: plantedBetweenCalls.length,
    found: nothing,
  });
});
