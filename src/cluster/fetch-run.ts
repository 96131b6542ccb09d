import { branchOf } from '../changes/branch.ts';
import { deleteRef } from '../git/branches.ts';
import { checkpointRefs } from '../git/checkpoint.ts';
import { fetchRefs, pushRefs, readRemoteRefs, type Remote } from '../git/remote.ts';
import { borrowObjects, commitsInMirror, fetchFromMirror } from '../git/mirror.ts';
import { messageOf, readStoredFiles } from '../git/stored-files.ts';
import { adoptRun } from '../store/adopt-run.ts';
import { upgradeView } from '../store/upgrade.ts';
import { parseView } from '../store/formats.ts';
import type { ChangeRef } from '../store/change-ref.ts';
import { openPrivateMirror } from '../store/private-mirror.ts';
import { parseJson } from '../text/shape.ts';
import type { ChangeRow } from './change-row.ts';
import { whyUnusable } from './check-claim.ts';
import type { Sql } from './database.ts';
import { branchRef, fenceRef, mirrored, parseFence } from './fence.ts';
import { isAnnounced, unknownState } from './published.ts';
import { ledgerPath, readSentLedger } from './sent-ledger.ts';

type Published = Pick<ChangeRow, 'id' | 'project' | 'request' | 'run' | 'detail' | 'fence' | 'open_fences'>;

/** What was fetched of a run on other machines. */
export interface FetchedRun {
  readonly remote: Remote;
  readonly fence: string;
  readonly tip: string;
}

/**
 * Fetches the branch of a change, its checkpoints and the state of its run, as if it had been run in this project.
 * Returns the reason as `why` if that is not possible.
 */
export const fetchRun = async (
  row: Published,
  of: ChangeRef,
  url: string,
): Promise<FetchedRun | { readonly why: string }> => {
  const unusable = whyUnusable(row);
  if (unusable !== null) return { why: unusable };
  const remote = await openPrivateMirror(url, of.env);
  if ('why' in remote) return remote;
  const { root: cwd } = of.project;
  await borrowObjects(remote, cwd);
  const [fenceName, branchName] = [fenceRef(row.id), branchRef(row.id)];
  const read = await readRemoteRefs(remote, [fenceName, branchName]);
  if (!read.ok) return { why: read.why };
  const [fence, tip] = [read.refs.get(fenceName), read.refs.get(branchName)];
  // Someone may have landed it, and the detail says so.
  if (fence === undefined) return { why: `${row.detail ? `${row.detail}; ` : ''}the remote has no ${fenceName}` };
  if (tip === undefined) return { why: `the remote has no branch ${branchOf(row.id)}` };
  if (!isAnnounced(row, fence)) return { why: unknownState };
  const [ownFence, ownBranch] = [mirrored(row.id, 'fence'), mirrored(row.id, 'branch')];
  const problem = await fetchRefs(remote, [`+${fenceName}:${ownFence}`, `+${branchName}:${ownBranch}`]);
  if (problem !== null) return { why: problem };
  const files = await readStoredFiles(remote.mirror, fence);
  const data = parseFence((await messageOf(remote.mirror, fence)) ?? '');
  const view = parseView(upgradeView(parseJson(files?.get('state/state.json')?.toString('utf8') ?? '')));
  if (files === null || data === null || !view) return { why: 'the state of its run cannot be read' };
  if (view.run !== row.run || view.workspace?.branch !== branchOf(row.id))
    return { why: 'the state on the remote is not that of its run' };
  // What runs here is what this machine trusts: workers take their checks from config.json.
  if (view.settings?.explicit.includes('verify'))
    return { why: 'its run has verify commands that are not those of the project' };
  if ((await fetchFromMirror(remote, cwd, [`${ownBranch}:${branchName}`])) !== null)
    return { why: `${branchOf(row.id)} has other commits here than on the remote: rename or delete it` };
  const copied =
    (await fetchFromMirror(remote, cwd, [`+${ownFence}:${ownFence}`])) ??
    (await checkpointRefs(
      cwd,
      row.id,
      data.checkpoints.filter(({ run }) => run === view.run),
    ));
  await deleteRef(cwd, ownFence);
  if (copied !== null) return { why: copied };
  const { prompt, base } = row.request;
  const commits = new Set(await commitsInMirror(remote, base.commit, tip));
  const ledger = readSentLedger(files.get(ledgerPath), { change: row.id, run: view.run, data, commits });
  adoptRun(of, { view, prompt, branch: branchOf(row.id), base: base.branch, files, ledger });
  return { remote, fence, tip };
};

/** Deletes the branch and the state of a change on the remote, if they are those that were fetched. */
export const deletePublished = async ({ remote, fence, tip }: FetchedRun, change: string): Promise<string | null> => {
  const pushed = await pushRefs(remote, [
    { name: branchRef(change), commit: null, expected: tip },
    { name: fenceRef(change), commit: null, expected: fence },
  ]);
  return pushed.kind === 'pushed' ? null : pushed.why;
};

/**
 * Records that a complete change has landed. The fence stays as it was announced, even if the remote does not have it any
 * more: only workers may change it, and the next one finds none.
 */
export const recordLanding = (
  sql: Sql,
  { project, id }: Published,
  { fence, detail }: { readonly fence: string; readonly detail: string },
): Promise<unknown> =>
  sql.query(
    `update spool.change set detail = $4, updated_at = now()
     where project = $1 and id = $2 and $3 = any(open_fences || fence) and state not in ('queued', 'running', 'waiting', 'paused')`,
    [project, id, fence, detail],
  );
