import { execFileSync } from 'node:child_process';
import { eventually } from './eventually.ts';
import { query, type usePostgres } from './postgres.ts';
import { createProject, type ProjectOptions } from './project.ts';

/** Prints the promise in iteration `last`, and writes one file in each. */
export const worksFor = (last: number): string =>
  `n=$(sed -n 's/^# Ralph Wiggum Loop - Iteration //p' "$call/prompt")
echo "$n" > "work-$n.txt"
if [ "$n" -ge ${last} ]; then echo '<promise>COMPLETE</promise>'; fi`;

/** Writes a file in iteration `n`, and waits until `file` exists in the home folder. */
export const waitsInIteration = (n: number, file: string) =>
  `if grep -q 'Iteration ${n}$' "$call/prompt"; then
  echo partial > partial.txt
  touch "$HOME/${file}.started"
  while [ ! -f "$HOME/${file}" ]; do sleep 0.05; done
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
  const env = { SPOOL_QUEUE: url };
  const spool = (...args: string[]) => project.start(args, { env }).result;
  await spool('queue', 'migrate');
  const onRemote = (...args: string[]) =>
    execFileSync('git', ['--git-dir', remote, ...args], { env: project.env, encoding: 'utf8' }).trim();
  const row = async (id: string): Promise<Row> =>
    (await query<Row>(url, 'select * from spool.change where id = $1', [id]))[0]!;
  return {
    ...project,
    url,
    remote,
    onRemote,
    spool,
    row,
    query: <Result>(text: string, values: readonly unknown[] = []) => query<Result>(url, text, values),
    /** Starts a worker, which is a machine of its own as far as Spool is concerned. */
    worker: (name: string, ...args: string[]) =>
      project.start(['worker', '--name', name, '--lease', '3s', ...args], { env }),
    /** Waits until the change is in this state. */
    reaches: (id: string, state: string) =>
      eventually(async () => (await row(id))?.state === state, `${id} to be ${state}`, 120_000),
  };
};

interface Row {
  readonly state: string;
  readonly detail: string | null;
  readonly epoch: string;
  readonly owner: string | null;
  readonly iteration: number | null;
  readonly cost_usd: string;
  readonly run: string | null;
}
