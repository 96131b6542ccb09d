import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { query, type usePostgres } from './postgres.ts';
import { createProject, type ProjectOptions } from './project.ts';

/** Sets `n` to the number of the iteration, and `id` to the change. */
export const readsPrompt = `n=$(sed -n 's/^# Ralph Wiggum Loop - Iteration //p' "$call/prompt")
id=$(sed -n 's/^## Change Proposal (\\(.*\\))$/\\1/p' "$call/prompt")
`;

/** Prints the promise in iteration `last`, and writes one file in each. */
export const worksFor = (last: number): string =>
  `${readsPrompt}echo "$n" > "work-$n.txt"
if [ "$n" -ge ${last} ]; then echo '<promise>COMPLETE</promise>'; fi`;

/** Waits in iteration `n` until `cluster.release(name)` is called. Comes before `worksFor`. */
export const waitsIn = (n: number, name: string): string =>
  `${readsPrompt}if [ "$n" = ${n} ]; then
  echo partial > partial.txt
  touch "$HOME/${name}.waits"
  while [ ! -f "$HOME/${name}" ]; do sleep 0.05; done
fi
`;

/** A project with a remote and a queue, as several machines share them. */
export const createCluster = async (postgres: ReturnType<typeof usePostgres>, options: ProjectOptions = {}) => {
  const project = createProject(options);
  const remote = `${project.home}/remote.git`;
  execFileSync('git', ['init', '--quiet', '--bare', remote], { env: project.env });
  project.git('remote', 'add', 'origin', remote);
  project.git('push', '--quiet', 'origin', 'main');
  const url = await postgres.createDatabase();
  for (const role of ['spool_worker', 'spool_user'])
    await query(
      url,
      `do $$ begin create role ${role} login password 'secret_of_${role}'; exception when duplicate_object then end $$`,
    );
  const [workerUrl, userUrl] = [urlFor(url, 'spool_worker'), urlFor(url, 'spool_user')];
  const spool = (...args: string[]) => project.start(args, { env: { SPOOL_QUEUE: userUrl } }).result;
  await project.start(['queue', 'migrate'], { env: { SPOOL_QUEUE: url } }).result;
  const onRemote = (...args: string[]) =>
    execFileSync('git', ['--git-dir', remote, ...args], { env: project.env, encoding: 'utf8' }).trim();
  const row = async (id: string): Promise<Row> =>
    (await query<Row>(url, 'select * from spool.change where id = $1', [id]))[0]!;
  return {
    ...project,
    /** The address for the owner of the database. Commands and workers use the others, which have few rights. */
    url,
    workerUrl,
    userUrl,
    remote,
    onRemote,
    spool,
    row,
    query: <Result>(text: string, values: readonly unknown[] = []) => query<Result>(url, text, values),
    /** Starts a worker, which Spool takes for another machine. */
    worker: (name: string, ...args: string[]) =>
      project.start(['worker', '--name', name, ...args], { env: { SPOOL_QUEUE: workerUrl } }),
    /** Ends the leases of all changes, as if their workers had been silent for long enough. */
    endLeases: () =>
      query(url, `update spool.change set lease_until = now() - interval '1 second' where state = 'running'`),
    /** Waits until the change is in this state. */
    reaches: (id: string, state: string) =>
      eventually(async () => (await row(id))?.state === state, `${id} to be ${state}`, 120_000),
    /** Resolves when an agent waits for `release(name)`. */
    waits: (name: string) =>
      eventually(() => existsSync(join(project.home, `${name}.waits`)), `${name} to be waited for`),
    release: (name: string) => writeFileSync(join(project.home, name), ''),
    /** The commits that the remote has for a change, oldest first. */
    subjects: (id: string) =>
      onRemote('log', '--reverse', '--format=%s', `main..ralph/${id}`).split('\n').filter(Boolean),
    /** The files of the branch of a change. */
    files: (id: string) => onRemote('ls-tree', '-r', '--name-only', `ralph/${id}`).split('\n'),
  };
};

/**
 * Replaces a file in the state that a worker has pushed, as a worker that lies could do it, and announces it in the queue
 * unless `isAnnounced` is false.
 */
export const forge = async (
  cluster: Cluster,
  change: string,
  { path, content, isAnnounced = true }: { path: string; content: string; isAnnounced?: boolean },
): Promise<void> => {
  const ref = `refs/spool/runs/${change}`;
  cluster.git('fetch', '--quiet', 'origin', ref);
  const index = { ...cluster.env, GIT_INDEX_FILE: join(cluster.home, 'forged-index') };
  const git = (args: string[], input?: string) =>
    execFileSync('git', args, { cwd: cluster.folder, env: index, input, encoding: 'utf8' }).trim();
  git(['read-tree', 'FETCH_HEAD']);
  const blob = git(['hash-object', '-w', '--stdin'], content);
  git(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`]);
  const message = cluster.onRemote('log', '-1', '--format=%B', ref);
  const forged = git(['commit-tree', git(['write-tree']), '-p', 'FETCH_HEAD', '-m', message]);
  cluster.git('push', '--quiet', '--force', 'origin', `${forged}:${ref}`);
  if (isAnnounced) await cluster.query('update spool.change set fence = $1 where id = $2', [forged, change]);
};

export type Cluster = Awaited<ReturnType<typeof createCluster>>;

const urlFor = (owner: string, role: string): string => {
  const url = new URL(owner);
  [url.username, url.password] = [role, `secret_of_${role}`];
  return url.href;
};

interface Row {
  readonly state: string;
  readonly detail: string | null;
  readonly epoch: string;
  readonly owner: string | null;
  readonly iteration: number | null;
  readonly cost_usd: string;
  readonly run: string | null;
  readonly lease_until: Date | null;
}
