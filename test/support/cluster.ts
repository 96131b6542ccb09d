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
    /** Starts a worker, which is a machine of its own as far as Spool is concerned. */
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
