import { expect, onTestFinished, test } from 'vitest';
import { agentBin } from '../../scripts/agents.mjs';
import { agents } from '../model/agents.mjs';
import { startModel } from '../model/server.mjs';
import { createCluster } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();

const ids = ['003-01_one', '003-02_two'];
const done = 'All is done.\n\n<promise>COMPLETE</promise>';

test('two workers with the real OpenCode complete two changes', async () => {
  const cluster = await createCluster(postgres, {
    files: Object.fromEntries(ids.map((id) => [`.spool/changes/${id}/proposal.md`, `# ${id}\n\nDo it.\n`])),
  });
  const agent = agents.opencode!;
  const model = await startModel({
    script: ({ iteration, step }) =>
      step === 0
        ? { text: `Step ${iteration}.`, tools: [{ shell: `echo ${iteration} > part-${iteration}.txt` }] }
        : { text: iteration === 3 ? done : 'More is to be done.' },
  });
  onTestFinished(() => model.close());
  const env = {
    ...agent.prepare(cluster.home, model.url),
    PATH: `${agentBin('opencode')}:${cluster.env.PATH}`,
    SPOOL_QUEUE: cluster.url,
  };
  const workers = ['left', 'right'].map((name) => cluster.start(['worker', '--name', name], { env }));
  for (const worker of workers) await worker.printed('is ready');
  const added = await cluster.spool('queue', 'add', ...ids, '--harness', 'opencode', '--model', agent.model);
  expect(added).toMatchObject({ code: 0 });
  for (const id of ids) await cluster.reaches(id, 'complete');

  for (const id of ids) {
    const files = cluster.onRemote('log', '--reverse', '--format=', '--name-only', `main..ralph/${id}`);
    expect(files.split('\n').filter(Boolean)).toEqual(['part-1.txt', 'part-2.txt', 'part-3.txt']);
    expect(Number((await cluster.row(id)).cost_usd)).toBeCloseTo(3 * 0.0022, 6);
  }
  const attempts = await cluster.query<{ owner: string; outcome: string }>('select owner, outcome from spool.attempt');
  expect(attempts.map(({ owner }) => owner).toSorted()).toEqual(['left', 'right']);
  expect(attempts.every(({ outcome }) => outcome === 'complete')).toBe(true);
  for (const worker of workers) worker.kill('SIGTERM');
  for (const worker of workers) expect(await worker.result).toMatchObject({ code: 0 });
});
