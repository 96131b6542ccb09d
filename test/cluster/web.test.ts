import { existsSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import type { ActionResult, ConversationPage, IterationPage, Overview, RunDetail } from '../../src/web/api.ts';
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
  const answer = await web.post('/api/actions', { action: { kind: 'add-context', change, text: 'from the page' } });
  expect(answer.json<ActionResult>()).toMatchObject({
    ok: true,
    output: expect.stringContaining(`Iteration 3 on ${hostname()} will read it.`),
  });

  writeFileSync(`${cluster.home}/go`, '');
  const ended = await page.message('ended');
  expect(ended.status).toBe('complete');
  await eventually(async () => (await web.read<RunDetail>(run)).status === 'complete', 'the end in the queue');
  await web.stop();
}, 300_000);
