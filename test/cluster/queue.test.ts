import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCluster, readsPrompt, waitsIn, worksFor } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';

const postgres = usePostgres();

const proposals = (...ids: string[]) =>
  Object.fromEntries(ids.map((id) => [`.spool/changes/${id}/proposal.md`, `# ${id}\n\nDo it.\n`]));

const step = (cost: number) =>
  JSON.stringify({ type: 'step_finish', part: { reason: 'stop', cost, tokens: { input: 1, output: 0 } } });

test('only what the remote has is queued', async () => {
  const cluster = await createCluster(postgres, { files: proposals('003-01_one') });
  cluster.write('.spool/changes/003-01_one/design.md', '# More\n');
  const dirty = await cluster.spool('queue', 'add', '003-01');
  expect(dirty).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('design.md is not committed, so workers cannot see it'),
  });
  cluster.git('add', '--all');
  cluster.git('commit', '--quiet', '-m', 'More');
  const unpushed = await cluster.spool('queue', 'add', '003-01');
  expect(unpushed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Your commits on main are not on origin, so workers cannot see it'),
  });
  expect(await cluster.query('select id from spool.change')).toEqual([]);
  cluster.git('push', '--quiet', 'origin', 'main');
  // The longest labels that are allowed still fit into the index.
  const labels = (count: number) =>
    Array.from({ length: count }, (_, index) => `--label=${String(index).padStart(60, 'n')}=${randomText(100)}`);
  const tooMany = await cluster.spool('queue', 'add', '003-01', ...labels(13));
  expect(tooMany).toMatchObject({ code: 2, stderr: expect.stringContaining('--label can be given 12 times at most') });
  expect(await cluster.spool('queue', 'add', '003-01', ...labels(12))).toMatchObject({ code: 0 });
});

/** The index compresses repetitions. */
const randomText = (length: number) => randomBytes(length).toString('hex').slice(0, length);

test('workers follow labels and priorities, and share requirements one after the other', async () => {
  const [low, high, special, one, two] = ['003-01_low', '003-02_high', '003-03_special', '004-01_one', '004-02_two'];
  const spec = '## ADDED Requirements\n\n### Requirement: Signing in\nIt SHALL.\n';
  const script = `${readsPrompt}echo "$id" >> "$HOME/started"
case $id in 004-*) mkdir "$HOME/only-one" || touch "$HOME/both"; sleep 0.5; rmdir "$HOME/only-one" ;; esac
echo "$id" > "$id.txt"
echo '<promise>COMPLETE</promise>'`;
  const cluster = await createCluster(postgres, {
    files: {
      ...proposals(low!, high!, special!, one!, two!),
      [`.spool/changes/${one}/specs/accounts/spec.md`]: spec,
      [`.spool/changes/${two}/specs/accounts/spec.md`]: spec,
    },
    agent: [script],
  });
  await cluster.spool('queue', 'add', low!);
  await cluster.spool('queue', 'add', high!, '--priority', '5');
  await cluster.spool('queue', 'add', special!, '--priority', '9', '--label', 'gpu=yes');
  const plain = cluster.worker('plain');
  await cluster.reaches(low!, 'complete');
  expect(readFileSync(join(cluster.home, 'started'), 'utf8').trim().split('\n')).toEqual([high, low]);
  expect(await cluster.row(special!)).toMatchObject({ state: 'queued', epoch: '0' });

  cluster.worker('gpu', '--label', 'gpu=yes', '--slots', '2');
  await cluster.reaches(special!, 'complete');
  expect(plain.output()).not.toContain(special);
  await cluster.spool('queue', 'add', one!, two!);
  await cluster.reaches(one!, 'complete');
  await cluster.reaches(two!, 'complete');
  expect(existsSync(join(cluster.home, 'both'))).toBe(false);
});

test('a lease that has ended is not renewed, because a change with the same requirement may have started', async () => {
  const cluster = await createCluster(postgres, { agent: [waitsIn(1, 'nothing')] });
  await cluster.spool('queue', 'add', change);
  const worker = cluster.worker('one', '--lease', '15s');
  await cluster.waits('nothing');
  await cluster.query(`update spool.change set lease_until = now() - interval '1 second', labels = '{elsewhere=yes}'`);
  await worker.printed('lost (another worker has taken it, or its claim was ended)');
});

test('a usage limit frees the slot until any worker continues', async () => {
  const other = '003-01_other';
  const limit = {
    type: 'error',
    error: { name: 'APIError', data: { message: 'usage limit, try again in 20 seconds', statusCode: 429 } },
  };
  const script = `${readsPrompt}if [ "$id" != ${other} ] && mkdir "$HOME/limited" 2>/dev/null; then echo '${JSON.stringify(limit)}'; exit 1; fi
echo "$id" > work.txt
echo '<promise>COMPLETE</promise>'`;
  const cluster = await createCluster(postgres, { files: proposals(other), agent: [script] });
  await cluster.spool('queue', 'add', change, '--priority', '1');
  await cluster.spool('queue', 'add', other);
  const first = cluster.worker('first');
  await first.printed(`${change}: waiting (usage limit of opencode`);
  await first.printed(`${other}: complete`);
  first.kill('SIGTERM');
  await first.result;
  const second = cluster.worker('second');
  await second.printed(`${change}: complete`);
  expect(await cluster.query('select outcome from spool.attempt where change = $1 order by epoch', [change])).toEqual([
    { outcome: 'waiting' },
    { outcome: 'complete' },
  ]);
  expect(cluster.subjects(change)).toHaveLength(1);
});

test('changes that are queued together share their budget', async () => {
  const ids = ['003-01_one', '003-02_two'];
  const cluster = await createCluster(postgres, {
    files: proposals(...ids),
    agent: [`echo $$ > work.txt; sleep 0.2; echo '${step(0.4)}'`],
  });
  await cluster.spool('queue', 'add', ...ids, '--max-cost', '2');
  const worker = cluster.worker('one', '--slots', '2');
  for (const id of ids) await cluster.reaches(id, 'limit');
  const [budget] = await cluster.query<{ spent: string; booked: string }>(
    `select b.spent_usd as spent, (select sum(cost_usd) from spool.ledger) as booked from spool.budget b`,
  );
  expect(Number(budget!.spent)).toBeCloseTo(Number(budget!.booked), 6);
  expect(Number(budget!.spent)).toBeGreaterThanOrEqual(2);
  expect(Number(budget!.spent)).toBeLessThanOrEqual(2 + 2 * 0.4 + 1e-9);
  for (const id of ids) expect((await cluster.row(id)).detail).toMatch(/budget|max-cost/);
  worker.kill('SIGTERM');
  expect(await worker.result).toMatchObject({ code: 0 });
});

test('a database that is restarted during an iteration disturbs nothing', async () => {
  const cluster = await createCluster(postgres, {
    agent: [`touch "$HOME/one.waits"; until [ -e "$HOME/one" ]; do sleep 0.05; done\n${worksFor(2)}`],
  });
  await cluster.spool('queue', 'add', change);
  const worker = cluster.worker('one', '--lease', '60s');
  await cluster.waits('one');
  await postgres.crash(async () => {
    // The iteration ends while the database is down.
    cluster.release('one');
    await worker.printed('iteration 1 finished');
  });
  await cluster.reaches(change, 'complete');
  expect(await cluster.query('select epoch, outcome from spool.attempt')).toEqual([
    { epoch: '1', outcome: 'complete' },
  ]);
  expect(cluster.subjects(change)).toHaveLength(2);
});
