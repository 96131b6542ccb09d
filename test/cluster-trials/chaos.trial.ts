import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { IterationRecord } from '../../src/ralph/record.ts';
import { createCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { usePostgres } from '../support/postgres.ts';
import { processesWith } from '../support/processes.ts';
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { createRandom } from '../support/trials.ts';

const postgres = usePostgres();

const firstSeed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const seeds = Array.from({ length: Number(process.env.SEEDS ?? 1) }, (_, index) => firstSeed + index);

const leaseMs = 3000;
const iterations = 7;
const costUsd = 0.1;
const limitUsd = 1;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const changes = numbers(10).map((n) => `001-${String(n).padStart(2, '0')}_work`);
/** These never promise anything: the budget that they share ends them. */
const spenders = numbers(2).map((n) => `009-0${n}_spend`);
/** Name and slots of each worker. There are more slots than changes, so that a lost change is taken at once. */
const machines = { a: 4, b: 4, c: 4, d: 4 } as const;

/** Leaves a process behind in a new session, which Spool has to end. */
const agent = `#!/bin/sh
if [ "$1" = --version ]; then echo 1.18.33; exit; fi
prompt=$(cat)
n=$(printf '%s\\n' "$prompt" | sed -n 's/^# Ralph Wiggum Loop - Iteration //p')
change=$(printf '%s\\n' "$prompt" | sed -n 's/^## Change Proposal (\\(.*\\))$/\\1/p')
setsid sleep 900 </dev/null >/dev/null 2>&1 &
echo "$n" > "work-$n.txt"
sleep "0.$(($$ % 7))"
echo "$change $n" >> "$HOME/spent"
echo '{"type":"step_finish","part":{"reason":"stop","cost":${costUsd},"tokens":{"input":10,"output":0}}}'
sleep "0.$(($$ % 5))"
case $change in 009-*) exit ;; esac
if [ "$n" -ge ${iterations} ]; then echo '{"type":"text","part":{"text":"<promise>COMPLETE</promise>"}}'; fi
`;

/** The next push after somebody has asked for it is late: its worker was stopped for longer than the lease. */
const lateGit = `#!/bin/sh
for word; do
  if [ "$word" = push ] && mv "$HOME/push-late" "$HOME/pushed-late-$$" 2>/dev/null; then
    kill -STOP "$PPID"
    sleep ${(2.5 * leaseMs) / 1000}
    kill -CONT "$PPID"
  fi
done
PATH=/usr/local/bin:/usr/bin:/bin exec git "$@"
`;

const program = (path: string, text: string) => {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
};

test.each(seeds)('nothing is lost and nothing is done twice (SEED=%d)', async (seed) => {
  const random = createRandom('chaos', seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const startedMs = performance.now();
  const cluster = await createCluster(postgres, {
    files: Object.fromEntries(
      [...changes, ...spenders].map((id) => [`.spool/changes/${id}/proposal.md`, `# ${id}\n\nDo it.\n`]),
    ),
  });
  const bin = join(cluster.home, 'bin');
  mkdirSync(bin);
  program(join(bin, 'opencode'), agent);
  program(join(bin, 'git'), lateGit);

  const proxies = new Map<string, TcpProxy>();
  const workers = new Map<string, ReturnType<typeof cluster.start>>();
  let isEnding = false;
  const past: ReturnType<typeof cluster.start>[] = [];
  const start = (name: keyof typeof machines): void => {
    const url = new URL(cluster.url);
    url.port = String(proxies.get(name)!.port);
    const home = join(cluster.home, 'machines', name);
    const worker = cluster.start(
      ['worker', '--name', name, '--slots', String(machines[name]), '--lease', `${leaseMs}ms`, '--checkpoint', '1s'],
      { env: { SPOOL_QUEUE: url.href, PATH: `${bin}:${cluster.env.PATH}`, XDG_STATE_HOME: home } },
    );
    workers.set(name, worker);
    past.push(worker);
    // Like a service manager: a worker that finds no database exits.
    void worker.result.then(async ({ code }) => {
      if (code !== 1 || isEnding || workers.get(name) !== worker) return;
      await delay(500);
      start(name);
    });
  };
  const names = Object.keys(machines) as (keyof typeof machines)[];
  for (const name of names) proxies.set(name, await startProxy(() => Number(new URL(cluster.url).port)));

  const added = await cluster.spool('queue', 'add', ...changes, '--max-cost', '100');
  expect(added.stderr + added.stdout).toContain('Queued');
  await cluster.spool('queue', 'add', ...spenders, '--max-cost', String(limitUsd), '--max-iterations', '50');
  names.forEach(start);

  const counts = { killed: 0, stopped: 0, cut: 0, late: 0, database: 0 };
  const pending: Promise<unknown>[] = [];
  const longer = () => leaseMs + 500 + random() * 1500;
  const actions = {
    killed: async () => {
      const name = pick(names);
      const worker = workers.get(name)!;
      worker.kill('SIGKILL');
      await worker.result;
      start(name);
    },
    stopped: async () => {
      const worker = workers.get(pick(names))!;
      worker.kill('SIGSTOP');
      pending.push(delay(longer()).then(() => worker.kill('SIGCONT')));
    },
    cut: async () => {
      const proxy = proxies.get(pick(names))!;
      proxy.cut();
      const how = pick(['late', 'reset'] as const);
      pending.push(delay(longer()).then(() => proxy.restore(how)));
    },
    late: async () => writeFileSync(join(cluster.home, 'push-late'), ''),
    database: async () => {
      const downMs = random() * 2 * leaseMs;
      await postgres.crash(() => delay(downMs));
    },
  } satisfies Record<keyof typeof counts, () => Promise<unknown>>;

  const rows = () =>
    cluster.query<{ id: string; state: string; detail: string | null }>('select id, state, detail from spool.change');
  const isOver = async () => {
    const all = await rows();
    const wrong = all.find(({ state }) => state === 'failed' || state === 'blocked' || state === 'stopped');
    if (wrong) throw new Error(`${wrong.id} is ${wrong.state}: ${wrong.detail}`);
    return all.every(({ state }) => state === 'complete' || state === 'limit');
  };
  const log = () => past.map((worker) => worker.output()).join('\n---\n');

  try {
    const schedule = Array.from({ length: 14 }, () =>
      pick(['killed', 'killed', 'stopped', 'stopped', 'cut', 'cut', 'late', 'late', 'database'] as const),
    );
    await delay(3000);
    for (const action of schedule) {
      if (await isOver()) break;
      counts[action]++;
      await actions[action]();
      await delay(500 + random() * 2500);
    }
    await Promise.all(pending);
    await eventually(isOver, 'all changes to end', 600_000);

    for (const name of names)
      await eventually(() => workers.get(name)!.output().includes('is ready'), `worker ${name}`);
    isEnding = true;
    for (const worker of workers.values()) worker.kill('SIGTERM');
    for (const worker of workers.values()) expect(await worker.result).toMatchObject({ code: 0 });

    // Each branch and the state that was pushed with it.
    for (const id of changes) {
      const branch = cluster.onRemote('log', '--reverse', '--format=', '--name-only', `main..ralph/${id}`);
      expect(branch.split('\n').filter(Boolean), id).toEqual(numbers(iterations).map((n) => `work-${n}.txt`));
      const commits = cluster.onRemote('rev-list', '--count', `main..ralph/${id}`);
      expect(Number(commits), id).toBe(iterations);
      const history = cluster
        .onRemote('show', `refs/spool/runs/${id}:state/history.jsonl`)
        .split('\n')
        .map((line) => JSON.parse(line) as IterationRecord);
      expect(
        history.map(({ iteration }) => iteration),
        id,
      ).toEqual(numbers(iterations));
      expect(new Set(history.map(({ run }) => run)).size, id).toBe(1);
    }
    for (const id of [...changes, ...spenders]) {
      const epochs = cluster
        .onRemote('log', '--first-parent', '--format=%s', `refs/spool/runs/${id}`)
        .split('\n')
        .map((subject) => Number(/epoch (\d+)$/.exec(subject)?.[1]));
      expect(epochs, id).toEqual(epochs.toSorted((one, other) => other - one));
    }

    // Every attempt has ended, and each lost one says why.
    const attempts = await cluster.query<{
      change: string;
      epoch: string;
      outcome: string | null;
      detail: string | null;
      refused: number;
    }>('select change, epoch, outcome, detail, refused from spool.attempt order by change, epoch');
    expect(attempts.filter(({ outcome }) => outcome === null)).toEqual([]);
    const lost = attempts.filter(({ outcome }) => outcome === 'lost');
    expect(lost.filter(({ detail }) => !detail)).toEqual([]);
    const refused = attempts.reduce((sum, attempt) => sum + attempt.refused, 0);
    const taken = await cluster.query<{ id: string; epoch: string }>('select id, epoch from spool.change');
    for (const { id, epoch } of taken) {
      const own = attempts.filter(({ change }) => change === id).map((attempt) => Number(attempt.epoch));
      expect(Math.max(...own), id).toBe(Number(epoch));
      expect(new Set(own).size, id).toBe(own.length);
    }

    // Nothing of an agent is left.
    const left = processesWith(`HOME=${cluster.home}`).filter((pid) =>
      readFileSync(`/proc/${pid}/environ`, 'latin1').includes('SPOOL_ITERATION='),
    );
    expect(left).toEqual([]);

    // The money.
    const budgets = await cluster.query<{ limit_usd: string; spent_usd: string; booked: string }>(
      `select limit_usd, spent_usd, (select sum(cost_usd) from spool.ledger l where l.budget = b.id) as booked
       from spool.budget b order by limit_usd`,
    );
    for (const { spent_usd, booked } of budgets) expect(Number(spent_usd)).toBeCloseTo(Number(booked), 6);
    const spent = Number(budgets[0]!.spent_usd);
    // One iteration for each slot that runs a spender. What lost workers spend is reserved until they tell.
    expect(spent).toBeLessThanOrEqual(limitUsd + spenders.length * costUsd + 1e-9);
    const [untold] = await cluster.query<{ usd: string }>(
      `select coalesce(sum($1 - l.cost_usd), 0) as usd from spool.ledger l
       join spool.attempt a on a.project = l.project and a.change = l.change and a.epoch = l.epoch
       where l.change = any($2) and a.outcome = 'lost' and l.cost_usd < $1`,
      [costUsd, spenders],
    );
    expect(spent + Number(untold!.usd)).toBeGreaterThanOrEqual(limitUsd - 1e-9);
    const ledger = await cluster.query<{ change: string; iteration: number; cost: string; rows: string }>(
      `select change, iteration, sum(cost_usd) as cost, count(*) as rows from spool.ledger group by change, iteration`,
    );
    for (const id of changes)
      for (const n of numbers(iterations))
        expect(
          Number(ledger.find(({ change, iteration }) => change === id && iteration === n)?.cost ?? 0),
          `${id} ${n}`,
        ).toBeGreaterThanOrEqual(costUsd - 1e-9);
    const reported = readFileSync(join(cluster.home, 'spent'), 'utf8').trim().split('\n').length;
    const booked = budgets.reduce((sum, budget) => sum + Number(budget.booked), 0);
    const unknown = Math.round(reported - booked / costUsd);
    // What an agent said was not read after its worker was killed.
    expect(unknown).toBeGreaterThanOrEqual(0);
    expect(unknown).toBeLessThanOrEqual(counts.killed * 2 + counts.late);

    const seconds = Math.round((performance.now() - startedMs) / 1000);
    process.stdout.write(
      `SEED=${seed}: ${JSON.stringify({ ...counts, attempts: attempts.length, lost: lost.length, refused, iterations: reported, unknown, seconds })}\n`,
    );
  } catch (error) {
    const file = join(process.env.CLUSTER_LOGS ?? '/tmp', `cluster-${seed}.log`);
    writeFileSync(file, log());
    throw new Error(`SEED=${seed} ${JSON.stringify(counts)}, log in ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
});
