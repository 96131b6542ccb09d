import { inject, test } from 'vitest';
import { rewindsExactly } from '../support/rewinds.ts';
import { report } from '../support/trials.ts';
import { readsWrongHistory, readsWrongState } from '../support/wrong-values.ts';
import { isCleanHoweverCut } from '../unit/redacted-stream.ts';

const seed = inject('seed');

test('a rewind gives exactly the tree of an iteration, whatever was in it', async () => {
  const numRuns = 10;
  await rewindsExactly({ numRuns, seed });
  report({
    what: 'random files, links and deletions in two to four iterations, then a rewind to each',
    trials: numRuns,
    found: 'every tree as it was, byte for byte; branch and index unmoved',
  });
});

test('a stream is cleaned of secrets however it is cut', () => {
  const numRuns = 200;
  isCleanHoweverCut({ numRuns, seed });
  report({
    what: 'output with secrets in it, cut into chunks at random',
    trials: numRuns,
    found: 'no secret left, nothing else touched',
  });
});

test('a value of a wrong type anywhere in state.json and history.jsonl is no crash', async () => {
  const trials = (await readsWrongState()) + (await readsWrongHistory());
  report({ what: 'a value of a wrong type in one place of state.json or history.jsonl', trials, found: '0 crashes' });
});
