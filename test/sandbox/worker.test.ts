import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCluster } from '../support/cluster.ts';
import { usePostgres } from '../support/postgres.ts';
import { change } from '../support/project.ts';
import { sandboxProblem } from '../support/sandbox.ts';

const postgres = usePostgres();
const problem = sandboxProblem();

const agent = `#!/bin/sh
[ "$1" = --version ] && { echo 1.18.33; exit; }
cat > /dev/null
state=$HOME/.local/state/spool
worker=$(cd ../../../../..; pwd)
others=$(dirname $worker)/other-123456
try() { if "$@" >/dev/null 2>&1; then echo "$*: yes"; else echo "$*: no"; fi >> report.txt; }
try cat $state/hub/passwords.json
try cat $state/other.json
try ls $state/projects/other
try cat $others/changes/other-1/secret.txt
try cat $HOME/pass
try touch $worker/mirror.git/objects/planted
try touch ../../.state/planted
try touch ../../../.git/config
try git log
try git commit --allow-empty -m mine
tr '\\0' '\\n' < /proc/self/environ | grep -c -E 'QUEUE|^PG' >> report.txt
# What it prints is a secret of the worker, which it may have found elsewhere.
echo secret_of_spool_worker
echo '<promise>COMPLETE</promise>'
`;

test.skipIf(problem !== null)(
  'an agent of a worker in a sandbox sees its clone, and nothing else of the worker',
  async () => {
    const cluster = await createCluster(postgres);
    const write = (path: string, text: string, mode = 0o600) => {
      const file = join(cluster.home, path);
      mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
      writeFileSync(file, text, { mode });
    };
    write('bin/opencode', agent, 0o755);
    write('pass', '*:*:*:*:hunter22\n');
    write('.local/state/spool/hub/passwords.json', '{}');
    write('.local/state/spool/other.json', '{}');
    write('.local/state/spool/projects/other/record', 'x');
    await cluster.spool('queue', 'add', change);
    const env = {
      SPOOL_QUEUE: cluster.workerUrl,
      PGPASSFILE: join(cluster.home, 'pass'),
      PATH: `${cluster.home}/bin:${cluster.env.PATH}`,
    };
    // A clone of another change.
    write('.local/share/spool/worker/one/other-123456/changes/other-1/secret.txt', 'x');
    const worker = cluster.start(['worker', '--name', 'one', '--sandbox'], { env });
    await worker.printed('is ready');
    await cluster.reaches(change, 'complete');
    const report = cluster.onRemote('show', `ralph/${change}:report.txt`);
    expect(report.replaceAll(/\S*\//g, '').split('\n')).toEqual([
      'cat passwords.json: no',
      'cat other.json: no',
      'ls other: no',
      'cat secret.txt: no',
      'cat pass: no',
      'touch planted: no',
      'touch planted: no',
      'touch config: no',
      'git log: yes',
      'git commit --allow-empty -m mine: yes',
      '0',
    ]);
    const ref = `refs/spool/runs/${change}`;
    const log = cluster
      .onRemote('ls-tree', '-r', '--name-only', ref)
      .split('\n')
      .find((path) => path.endsWith('0001.log'));
    expect(cluster.onRemote('show', `${ref}:${log}`)).toContain('[redacted]');
  },
);
