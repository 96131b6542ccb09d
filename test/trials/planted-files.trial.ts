import { test } from 'vitest';
import { fewAtATime } from '../support/at-a-time.ts';
import { plantsByAgents, plantsLeftBehind, staysByAgent, staysLeftBehind } from '../support/plants.ts';
import { report } from '../support/trials.ts';

const nothing = 'nothing outside written or created, 0 crashes';

test('links, hard links and FIFOs of an agent in the place of everything that Spool writes', async () => {
  await fewAtATime(plantsByAgents, 4, staysByAgent);
  report({
    what: 'a link, a hard link or a FIFO of an agent in the place of a file that Spool writes',
    trials: plantsByAgents.length,
    found: nothing,
  });
});

test('the same between two calls of Spool', async () => {
  await fewAtATime(plantsLeftBehind, 4, staysLeftBehind);
  report({
    what: 'a link, a hard link or a FIFO put there between two calls, the second of which resumes, sets up or lands',
    trials: plantsLeftBehind.length,
    found: nothing,
  });
});
