import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { limitGit, whyUnresponsive } from '../../../src/git/call/deadline.ts';
import { git } from '../../../src/git/call/git.ts';
import { guardGit } from '../../../src/git/call/guards.ts';
import { withGitScope } from '../../../src/git/call/scope.ts';

const folder = mkdtempSync(join(tmpdir(), 'spool-scope-'));
afterAll(() => rmSync(folder, { recursive: true }));
execFileSync('git', ['init', '--quiet'], { cwd: folder });

const pipe = join(folder, 'pipe');
execFileSync('mkfifo', [pipe]);

/** A git that hangs until it is terminated. */
const hangs = () => git(['hash-object', '--no-filters', '--', pipe], { cwd: folder });
const answers = () => git(['rev-parse', '--is-inside-work-tree'], { cwd: folder });

test('the end of a run terminates its git, but not that of another run in the same process', async () => {
  const kills = [new AbortController(), new AbortController()];
  const never = new AbortController().signal;
  const ended: number[] = [];
  // The first command also asks for the version.
  await answers();
  const runs = kills.map((kill, index) =>
    withGitScope(async () => {
      const release = limitGit({ stop: never, kill: kill.signal, graceMs: () => 0 });
      const result = await hangs();
      ended.push(index);
      const state = { stderr: result.stderr, unresponsive: whyUnresponsive(), answer: (await answers()).code };
      release();
      return state;
    }),
  );

  kills[0]!.abort();
  const first = await runs[0];
  expect(ended).toEqual([0]);
  expect(first).toMatchObject({
    stderr: 'git was terminated by SIGTERM',
    unresponsive: 'git does not respond',
    answer: 128,
  });

  expect(await withGitScope(async () => ({ why: whyUnresponsive(), ...(await answers()) }))).toMatchObject({
    why: null,
    code: 0,
  });
  kills[1]!.abort();
  await runs[1];
  expect(ended).toEqual([0, 1]);
});

test('a guard applies to a run and the others of its batch, and to no other run', async () => {
  const refused = { code: 128, stderr: 'planted' };
  await withGitScope(async () => {
    await withGitScope(async () => {
      guardGit(async () => 'planted');
      expect(await answers()).toMatchObject(refused);
    });
    expect(await withGitScope(answers)).toMatchObject(refused);
  });
  expect(await withGitScope(answers)).toMatchObject({ code: 0 });
  expect(await answers()).toMatchObject({ code: 0 });
});
