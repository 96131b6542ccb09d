import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Cluster, createCluster, readsPrompt, waitsIn } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

const cost = 0.4;
const reports = `echo '${JSON.stringify({
  type: 'step_finish',
  part: { reason: 'stop', cost, tokens: { input: 1, output: 0 } },
})}'\n`;
const promises = `echo '${JSON.stringify({ type: 'text', part: { text: '<promise>COMPLETE</promise>' } })}'\n`;
/** Changes something, so that the iteration counts. */
const works = `${readsPrompt}date +%s%N > work.txt\n`;

interface Booking {
  readonly epoch: number;
  readonly iteration: number;
  readonly cost: number;
}

const ledger = (cluster: Cluster): Promise<Booking[]> =>
  cluster.query<Booking>(
    `select epoch::int, iteration, cost_usd::float as cost from spool.ledger order by epoch, iteration`,
  );

const spent = async (cluster: Cluster): Promise<number> =>
  Number((await cluster.query<{ spent: string }>('select spent_usd as spent from spool.budget'))[0]!.spent);

const books = (cluster: Cluster, booking: Booking) =>
  eventually(
    async () => (await ledger(cluster)).some((each) => JSON.stringify(each) === JSON.stringify(booking)),
    `${JSON.stringify(booking)} in the ledger`,
  );

test('what an agent reports is booked while it works, and stays booked if its worker is killed', async () => {
  const cluster = await createCluster(postgres, {
    agent: [`${works}${reports}${waitsIn(1, 'go')}${reports}${promises}`],
  });
  await cluster.spool('queue', 'add', change, '--max-cost', '100');
  const first = cluster.worker('first');
  await cluster.waits('go');
  await books(cluster, { epoch: 1, iteration: 1, cost });
  expect(await spent(cluster)).toBeCloseTo(cost, 6);
  expect(Number((await cluster.row(change)).cost_usd)).toBeCloseTo(cost, 6);
  first.kill('SIGKILL');
  await first.result;
  await cluster.endLeases();
  cluster.release('go');
  cluster.worker('second');
  await cluster.reaches(change, 'complete');
  expect(await ledger(cluster)).toEqual([
    { epoch: 1, iteration: 1, cost },
    { epoch: 2, iteration: 1, cost: 2 * cost },
  ]);
  expect(await spent(cluster)).toBeCloseTo(3 * cost, 6);
  expect(Number((await cluster.row(change)).cost_usd)).toBeCloseTo(3 * cost, 6);
});

test('what a lost worker may still spend stays reserved, and is booked when it comes back', async () => {
  const agent = `${works}if [ "$n" = 2 ] && mkdir "$HOME/first" 2>/dev/null; then
  touch "$HOME/lost.waits"
  until [ -e "$HOME/lost" ]; do sleep 0.05; done
  ${reports}touch "$HOME/reported.waits"
  sleep 300
fi
${reports}`;
  const cluster = await createCluster(postgres, { agent: [agent] });
  await cluster.spool('queue', 'add', change, '--max-cost', '1');
  const first = cluster.worker('first', '--lease', '15s');
  await cluster.waits('lost');
  first.kill('SIGSTOP');
  await cluster.endLeases();
  cluster.worker('second');
  // One iteration of each worker is booked. That of the lost one may cost as much as these.
  await cluster.reaches(change, 'limit');
  expect((await cluster.row(change)).detail).toBe(
    'the shared budget of $1 is used up ($0.80 spent by all changes, $0.40 reserved)',
  );
  cluster.release('lost');
  await cluster.waits('reported');
  first.kill('SIGCONT');
  await books(cluster, { epoch: 1, iteration: 2, cost });
  expect(await ledger(cluster)).toEqual([
    { epoch: 1, iteration: 1, cost },
    { epoch: 1, iteration: 2, cost },
    { epoch: 2, iteration: 2, cost },
  ]);
  // Not more than the limit and one iteration.
  expect(await spent(cluster)).toBeCloseTo(3 * cost, 6);
  first.kill('SIGTERM');
  expect(await first.result).toMatchObject({ code: 0 });
});

test('what could not be booked is booked by the next worker on the machine', async () => {
  const cluster = await createCluster(postgres, {
    agent: [`${works}${waitsIn(1, 'down')}${reports}sleep 300`, `${works}${reports}${promises}`],
  });
  await cluster.spool('queue', 'add', change, '--max-cost', '100');
  const args = ['one', '--lease', '60s', '--folder', join(cluster.home, 'worker')] as const;
  const first = cluster.worker(...args);
  await cluster.waits('down');
  const worker = join(cluster.home, 'worker');
  const left = (): string[] =>
    readdirSync(worker)
      .map((repository) => join(worker, repository, 'unbooked'))
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder))
      .filter((name) => name.endsWith('.json'));
  await postgres.crash(async () => {
    cluster.release('down');
    await eventually(() => left().length > 0, 'a file with what is not booked');
    first.kill('SIGKILL');
    await first.result;
  });
  expect(await ledger(cluster)).toEqual([{ epoch: 1, iteration: 1, cost: 0 }]);
  const again = cluster.worker(...args);
  await books(cluster, { epoch: 1, iteration: 1, cost });
  await again.printed('is ready');
  await eventually(() => left().length === 0, 'the file to be deleted');
});
