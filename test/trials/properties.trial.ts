import { inject, test } from 'vitest';
import { rewindsExactly } from '../support/rewinds.ts';
import { report } from '../support/trials.ts';
import { readsWrongHistory, readsWrongState } from '../support/wrong-values.ts';
import { redactsInAnyChunks } from '../unit/secrets/redacted-stream.ts';

const seed = inject('seed');

test('a rewind restores exactly the tree of an iteration, for any tree', async () => {
  const numRuns = 10;
  await rewindsExactly({ numRuns, seed });
  report({
    what: 'random files, links and deletions in two to four iterations, then a rewind to each',
    trials: numRuns,
    found: 'every tree restored byte for byte, branch and index unchanged',
  });
});

test('a stream is redacted wherever it is split', () => {
  const numRuns = 200;
  redactsInAnyChunks({ numRuns, seed });
  report({
    what: 'output with secrets, split into random chunks',
    trials: numRuns,
    found: 'all secrets redacted, nothing else changed',
  });
});

test('a value of the wrong type anywhere in state.json and history.jsonl does not crash Spool', async () => {
  const trials = (await readsWrongState()) + (await readsWrongHistory());
  report({
    what: 'a value of the wrong type at one position in state.json or history.jsonl',
    trials,
    found: '0 crashes',
  });
});
