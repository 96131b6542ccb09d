import { test } from 'vitest';
import { forEachConcurrent } from '../support/concurrency.ts';
import { endsByLimit, endsBySignal, hangs, ignoresSignals, landingEnds, run } from '../support/hanging-git.ts';
import { report } from '../support/trials.ts';

const every = Infinity;
const inWorktree = [...run, '--worktree'];

test.each([
  { title: 'a run', args: run, script: hangs, max: every },
  { title: 'a run and ignores signals', args: run, script: ignoresSignals, max: 8 },
  { title: 'a run in a worktree', args: inWorktree, script: hangs, max: every },
])('Ctrl-C ends Spool while git hangs in $title', async (hanging) => {
  const trials = await endsBySignal(hanging);
  report({ what: `a git that hangs in ${hanging.title}, then Ctrl-C`, trials, found: 'ended, 0 processes left' });
});

test.each([
  { title: 'a run', args: run, script: hangs, max: 16 },
  { title: 'a run and ignores signals', args: run, script: ignoresSignals, max: 8 },
])('--max-duration ends Spool while git hangs in $title', async (hanging) => {
  const trials = await endsByLimit(hanging);
  report({ what: `a git that hangs in ${hanging.title}, with a limit`, trials, found: 'ended, 0 processes left' });
});

test('Ctrl-C ends a landing while git hangs', async () => {
  const calls = Array.from({ length: 16 }, (_, index) => index + 1);
  await forEachConcurrent(calls, 8, landingEnds);
  report({
    what: 'a git that hangs in a landing, then Ctrl-C',
    trials: calls.length,
    found: 'ended, 0 processes left',
  });
});
