import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeSafely } from '../files/safe.ts';
import { pushRefs, type PushResult, type Remote } from '../git/remote.ts';
import { openMirror } from '../git/mirror.ts';
import { storeFiles } from '../git/stored-files.ts';

/**
 * Checks that a remote accepts what workers push: refs below refs/spool, all or nothing, and only if it has the commits
 * that are expected. Creates and deletes two refs for this. Returns the reason if something is missing.
 */
export const checkRemote = async (url: string): Promise<string | null> => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-remote-'));
  const remote: Remote = { mirror: join(folder, 'mirror.git'), url };
  try {
    const problem = await openMirror(remote, folder);
    if (problem !== null) return problem;
    const [first, second] = [await commitIn(remote, 'first'), await commitIn(remote, 'second')];
    return first === null || second === null ? 'git cannot create a commit' : await tryPushes(remote, first, second);
  } finally {
    removeSafely(folder);
  }
};

const commitIn = async ({ mirror }: Remote, message: string): Promise<string | null> => {
  const ref = `refs/spool/doctor/${message}`;
  const stored = await storeFiles({ mirror, ref, base: null, files: new Map(), message, parents: [] });
  return 'commit' in stored ? stored.commit : null;
};

const tryPushes = async (remote: Remote, first: string, second: string): Promise<string | null> => {
  const id = crypto.randomUUID().slice(0, 8);
  const [one, other] = [`refs/spool/doctor/${id}-a`, `refs/spool/doctor/${id}-b`];
  const created = await pushRefs(remote, [
    { name: one, commit: first, expected: null },
    { name: other, commit: first, expected: null },
  ]);
  if (created.kind !== 'pushed') return `it does not accept refs/spool with --atomic: ${created.why}`;
  // One of the two is not what is expected, so neither may change.
  const refused = await pushRefs(remote, [
    { name: one, commit: second, expected: first },
    { name: other, commit: second, expected: second },
  ]);
  const deleted = await deleteRefs(remote, { [one]: first, [other]: first });
  if (refused.kind === 'pushed') return 'it accepts a push that --force-with-lease must prevent';
  if (refused.kind !== 'moved') return `it does not understand --force-with-lease: ${refused.why}`;
  return deleted.kind === 'pushed' ? null : `it does not delete refs below refs/spool: ${deleted.why}`;
};

const deleteRefs = (remote: Remote, refs: Readonly<Record<string, string>>): Promise<PushResult> =>
  pushRefs(
    remote,
    Object.entries(refs).map(([name, expected]) => ({ name, commit: null, expected })),
  );
