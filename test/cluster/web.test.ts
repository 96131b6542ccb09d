import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import type {
  ActionResult,
  ApiError,
  ConversationPage,
  DiffSummary,
  FileDiffDetail,
  IterationDetail,
  IterationPage,
  Overview,
  RunDetail,
  TextPage,
} from '../../src/web/api.ts';
import { createCluster, worksFor } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';
import { startWeb } from '../support/web.ts';

const postgres = usePostgres();

/** Waits in its second iteration. */
const agent = `if grep -q 'Iteration 2$' "$call/prompt"; then
  touch "$HOME/go.waits"
  while [ ! -f "$HOME/go" ]; do sleep 0.05; done
fi
echo "output of the agent"
${worksFor(3)}`;

test('the page shows and steers runs on other machines', async () => {
  const cluster = await createCluster(postgres, { agent: [agent] });
  await cluster.spool('queue', 'add', change);
  const web = await startWeb(cluster, [], { env: { SPOOL_QUEUE: cluster.userUrl } });
  const overview = await web.read<Overview>('/api/overview');
  expect(overview).toMatchObject({ queue: true, rows: [{ change, status: 'queued', remote: { state: 'queued' } }] });

  cluster.worker('one');
  await eventually(() => existsSync(`${cluster.home}/go.waits`), 'the second iteration');
  const run = `/api/changes/${change}/runs/latest`;
  await eventually(async () => (await web.get(run)).status === 200, 'the run');
  const page = await web.stream(`/api/stream/changes/${change}/runs/latest`);
  const { detail } = await page.message('snapshot');
  expect(detail).toMatchObject({ status: 'running', row: { remote: { worker: 'one', host: hostname() } } });
  await eventually(
    async () => (await web.read<IterationPage>(`${run}/iterations`)).iterations.length === 1,
    'the first iteration',
  );
  const conversation = await web.read<ConversationPage>(`${run}/iterations/1/conversation`);
  expect(JSON.stringify(conversation.entries)).toContain('output of the agent');
  expect(conversation.entries.at(-1)!.event.type).toBe('iteration-finished');
  // Its checkpoints and files come from the remote, through one mirror.
  await eventually(async () => (await web.get(`${run}/diff?iteration=1`)).status === 200, 'the pushed checkpoint');
  expect(await web.read<DiffSummary>(`${run}/diff?iteration=1`)).toMatchObject({
    files: [{ status: 'added', path: 'work-1.txt', insertions: 1 }],
  });
  expect(await web.read<FileDiffDetail>(`${run}/diff/file?iteration=1&path=work-1.txt`)).toMatchObject({
    hunks: [{ lines: [{ kind: 'added', text: '1' }] }],
  });
  expect(await web.read<IterationDetail>(`${run}/iterations/1`)).toMatchObject({
    hasDiff: true,
    logSize: expect.any(Number),
  });
  expect((await web.read<TextPage>(`${run}/iterations/1/log`)).text).toContain('output of the agent');
  expect((await web.get(`${run}/diff?iteration=9`)).status).toBe(409);
  expect(mirrorsOf(cluster.home)).toBe(1);
  const answer = await web.post('/api/actions', { action: { kind: 'add-context', change, text: 'from the page' } });
  expect(answer.json<ActionResult>()).toMatchObject({
    ok: true,
    output: expect.stringContaining(`Iteration 3 on ${hostname()} will read it.`),
  });

  writeFileSync(`${cluster.home}/go`, '');
  const ended = await page.message('ended');
  expect(ended.status).toBe('complete');
  await eventually(async () => (await web.read<RunDetail>(run)).status === 'complete', 'the end in the queue');
  // A long iteration is read from its end, in windows without a gap.
  await cluster.query(
    `insert into spool.event (project, change, run, epoch, line)
     select project, change, run, epoch, '{"v":1,"seq":' || 1000 + n || ',"at":"2026-11-18T00:00:00.000Z","elapsedMs":1,' ||
       '"event":{"type":"agent","event":{"type":"text","text":"x","plain":true}}}'
     from (select * from spool.event order by id desc limit 1) last, generate_series(1, 700) n`,
  );
  const path = `${run}/iterations/3/conversation`;
  const end = await web.read<ConversationPage>(`${path}?before=end`);
  expect(end.entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 500 }, (_, index) => 1201 + index));
  const earlier = await web.read<ConversationPage>(`${path}?before=${end.previous}`);
  expect([earlier.previous, earlier.entries[0]!.event.type]).toEqual([null, 'iteration-started']);
  expect(earlier.entries.at(-1)!.seq).toBe(1200);
  expect(await web.read<DiffSummary>(`${run}/diff?from=0&to=3`)).toMatchObject({ filesChanged: 3 });
  expect(await web.read<DiffSummary>(`${run}/diff?iteration=3`)).toMatchObject({ files: [{ path: 'work-3.txt' }] });
  expect(mirrorsOf(cluster.home)).toBe(1);
  await web.stop();
}, 300_000);

/** A page that is open for days must not leave one for each click. */
const mirrorsOf = (home: string): number => {
  const folder = `${home}/.local/state/spool/tmp`;
  return readdirSync(folder).filter((name) => existsSync(`${folder}/${name}/mirror.git`)).length;
};

test('without the queue, the runs of this machine are shown, and those of others come back with it', async () => {
  const local = '002-02_here';
  const cluster = await createCluster(postgres, {
    files: { [`.spool/changes/${local}/proposal.md`]: '# Here\n' },
    agent: [worksFor(1)],
  });
  await cluster.spool('queue', 'add', change);
  cluster.worker('one');
  await cluster.reaches(change, 'complete');
  await cluster.start(['ralph', '--change', local]).result;
  const web = await startWeb(cluster, [], { env: { SPOOL_QUEUE: cluster.userUrl } });
  const path = (of: string) => `/api/changes/${of}/runs/latest`;
  expect(await web.read<RunDetail>(path(change))).toMatchObject({ status: 'complete', row: { change } });
  const stream = await web.stream(`/api/stream/changes/${local}/runs/latest`);
  await stream.message('snapshot');

  await postgres.crash(async () => {
    await eventually(async () => (await web.get(path(change))).status === 409, 'the queue to be missed');
    const missing = (await web.get(path(change))).json<ApiError>();
    expect(missing.error.code).toBe('queue-unreachable');
    expect(missing.error.message).not.toContain('secret_of');
    expect(await web.read<RunDetail>(path(local))).toMatchObject({ status: 'complete', row: { change: local } });
    expect(await web.read<IterationPage>(`${path(local)}/iterations`)).toMatchObject({ last: 1 });
    await (await web.stream(`/api/stream/changes/${local}/runs/latest`)).message('snapshot');
    const isWarned = async () =>
      (await web.read<Overview>('/api/overview')).warnings.join(' ').includes('Only this machine');
    await eventually(isWarned, 'a warning about the queue');
    const { rows } = await web.read<Overview>('/api/overview');
    expect(rows).toContainEqual(expect.objectContaining({ change: local, status: 'complete' }));
  });

  await eventually(async () => (await web.get(path(change))).status === 200, 'the queue to be back');
  expect((await web.stop()).code).toBe(0);
}, 300_000);
