// npm run bench:cluster: what the queue costs with 1 to 1,000 workers and 10,000 changes. Workers are simulated: each has
// the connections of a worker and claims, renews and looks with the code of `spool worker`, without agents and git.
//   --quick           up to 100 workers and 1,000 changes
//   --workers <n>     number of workers
//   --docs            puts the tables into docs/scale.md
import { setMaxListeners } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL, fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { build } from 'rolldown';
import { serverLoad } from './cluster/server-load.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
    workers: { type: 'string' },
  },
});
const sizes = options.workers ? [Number(options.workers)] : options.quick ? [1, 10, 100] : [1, 10, 100, 1000];
const queued = options.quick ? 1000 : 10_000;
const leaseMs = 30_000;
const windowMs = 10_000;
/** So many at most run something: more of them would measure the machine. */
const maxRunning = 100;
const takeovers = 3;
const singles = 100;
/** Each worker plans its statements once. */
const warmUpMs = 10_000;
/** Queries of workers at rest that got no connection in time. */
let missed = 0;
const project = 'bench';

const folder = mkdtempSync(join(tmpdir(), 'spool-bench-'));
// Postgres runs as another user if this one is root.
chmodSync(folder, 0o755);

const load = async () => {
  const file = join(folder, 'cluster.cjs');
  await build({
    cwd: root,
    input: 'bench/cluster/entry.ts',
    platform: 'node',
    logLevel: 'warn',
    transform: { define: { SPOOL_VERSION: '"bench"' } },
    output: { file, format: 'cjs', codeSplitting: false },
  });
  return (await import(pathToFileURL(file).href)).default;
};

/** @param {readonly number[]} times @param {number} share */
const quantile = (times, share) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;

/** @template T @param {() => Promise<T>} work */
const timed = async (work) => {
  const start = performance.now();
  const result = await work();
  return { result, ms: performance.now() - start };
};

const cluster = await load();
const programs = cluster.findPostgres({ folder: null, roots: [root] }, process.env);
if (programs === null) throw new Error('no Postgres server: run "npm install"');
// With fsync, as in production.
const server = await cluster.startServer({
  programs,
  folder: join(folder, 'server'),
  host: '127.0.0.1',
  port: 0,
  settings: { max_connections: String(Math.max(...sizes) * 2 + 50) },
});
const database = await cluster.openDatabase(server.url('postgres'));
await cluster.migrate(database);
const { cpuMs, memoryMb } = serverLoad(join(folder, 'server'));

/** The CPU time of the server while `work` runs. @template T @param {() => Promise<T>} work */
const measured = async (work) => {
  const before = cpuMs();
  const { result, ms } = await timed(work);
  return { result, ms, cpuMs: cpuMs() - before };
};

/** Of four changes one needs a label, of five one edits a requirement. @param {string} project */
const fill = (project) =>
  database.query(
    `insert into spool.change (project, id, state, request, priority, labels, requirements, queued_by)
     select $2, 'change-' || n, 'queued', '{"v": 1, "prompt": "", "settings": {}}', n % 3,
       case n % 4 when 0 then '{agent=claude}'::text[] else '{}' end,
       case n % 5 when 0 then array['capability: requirement ' || n] else '{}' end, 'bench'
     from generate_series(1, $1::int) n`,
    [queued, project],
  );

/** @param {number} n */
const simulate = async (n) => {
  const own = await cluster.openDatabase(server.url('postgres'));
  own.listen({ spool_queue: () => {}, spool_inbox: () => {} });
  return {
    database: own,
    claimant: { name: `worker-${n}`, host: 'bench', projects: [project], labels: ['agent=claude'], leaseMs },
  };
};

/** @typedef {Awaited<ReturnType<typeof simulate>>} Worker */

const activity = async () =>
  (
    await database.query(
      `select count(*) as connections from pg_stat_activity where application_name = 'spool bench' and pid <> pg_backend_pid()`,
    )
  )[0].connections;

/** Renews and looks for work as a worker without any does, until stopped. @param {Worker} worker @param {any} how */
const rest = async ({ database: own, claimant }, { workers, signal, onClaim = () => {} }) => {
  // A worker tries again later.
  const orLater = () => {
    missed++;
    return null;
  };
  const pause = (/** @type {number} */ ms) => delay(ms, undefined, { signal }).catch(() => {});
  const beat = async () => {
    for (await pause((Math.random() * leaseMs) / 3); !signal.aborted; await pause(leaseMs / 3))
      await own
        .query(
          `update spool.worker set seen_at = now() where name = $1 returning (select count(*) from spool.worker)`,
          [claimant.name],
        )
        .catch(orLater);
  };
  const look = async () => {
    for (
      await pause(Math.random() * warmUpMs);
      !signal.aborted;
      await pause(cluster.pollDelayMs({ workers, leaseMs }))
    ) {
      const claim = await cluster.claimNext(own, { ...claimant, projects: ['rest'] }).catch(orLater);
      if (claim !== null) onClaim(claim);
    }
  };
  await Promise.all([beat(), look()]);
};

/** Counted as a claim that got nothing. */
const orNothing = () => null;

/** What a running change writes twice a second. @param {Worker} worker @param {any} claim @param {AbortSignal} signal */
const run = async ({ database: own, claimant }, claim, signal) => {
  const view = JSON.stringify({ run: 'r', status: 'running', text: 'x'.repeat(3000) });
  let copies = 0;
  await delay(Math.random() * 500);
  for (; !signal.aborted; copies++) {
    const startedMs = performance.now();
    await own.query(
      `insert into spool.event (project, change, run, epoch, line)
       select $1, $2, 'r', $3, line from unnest($4::text[]) as l (line)
       where exists (select 1 from spool.change where project = $1 and id = $2 and epoch = $3)`,
      [project, claim.id, claim.epoch, ['x'.repeat(300), 'x'.repeat(300)]],
    );
    await own.query(
      `update spool.change set run = 'r', iteration = 1, view = $4::jsonb, updated_at = now()
       where project = $1 and id = $2 and epoch = $3 and state = 'running' returning id`,
      [project, claim.id, claim.epoch, view],
    );
    if (copies % 20 === 19) await cluster.renewClaims(own, claimant, [claim]);
    await delay(Math.max(0, 500 - (performance.now() - startedMs)));
  }
  return copies;
};

/** @param {number} size */
const measure = async (size) => {
  await database.query(
    'truncate spool.change, spool.attempt, spool.ledger, spool.event, spool.inbox, spool.holding, spool.worker',
  );
  await fill(project);
  /** @type {Worker[]} */
  const workers = [];
  // A few at a time: a thousand logins at the same moment would run into the time limit of a connection.
  while (workers.length < size) {
    const count = Math.min(20, size - workers.length);
    workers.push(...(await Promise.all(Array.from({ length: count }, (_, n) => simulate(workers.length + n)))));
    while ((await activity()) < workers.length) await delay(50);
  }
  await database.query(
    `insert into spool.worker (name, host, version, slots, lease_ms) select 'worker-' || n, 'bench', 'bench', 1, $2
     from generate_series(0, $1::int - 1) n`,
    [size, leaseMs],
  );

  // At rest, with ten thousand changes that these workers may not take.
  await database.query(`update spool.change set project = 'rest', labels = '{agent=other}'`);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  /** @type {((claim: any) => void) | null} */
  let onClaim = null;
  const resting = Promise.all(
    workers.map((worker) =>
      rest(worker, { workers: size, signal: stop.signal, onClaim: (/** @type {any} */ claim) => onClaim?.(claim) }),
    ),
  );
  await delay(1.5 * warmUpMs);
  missed = 0;
  const atRest = await measured(() => delay(windowMs));
  const connections = await activity();
  const memory = memoryMb();
  const missedAtRest = missed;

  // A worker was killed: its lease ends now. How long until another one has the change?
  const taken = [];
  for (let n = 0; n < takeovers; n++) {
    const start = performance.now();
    const claimed = new Promise((resolve) => (onClaim = resolve));
    await database.query(
      `update spool.change set state = 'running', owner = 'killed', epoch = 1, labels = '{}', lease_until = now()
       where id = $1`,
      [`change-${n + 1}`],
    );
    await claimed;
    taken.push(performance.now() - start);
  }
  stop.abort();
  await resting;

  // One claim after the other by one worker, with the others at rest.
  await database.query('truncate spool.change, spool.attempt, spool.holding');
  await fill(project);
  const one = await simulate(size);
  const claims = await measured(async () => {
    const taken = [];
    for (let n = 0; n < singles; n++) taken.push(await timed(() => cluster.claimNext(one.database, one.claimant)));
    return taken;
  });
  const single = claims.result.map(({ ms }) => ms);
  const settles = await measured(async () => {
    for (const { result } of claims.result)
      await cluster.settle(one.database, result, { state: 'queued', detail: null });
  });
  await one.database.close();

  // All of them at the same moment, each over its own connection.
  const burst = await measured(() =>
    Promise.all(
      workers.map(({ database: own, claimant }) => timed(() => cluster.claimNext(own, claimant).catch(orNothing))),
    ),
  );
  const owned = burst.result.map(({ result }) => result);
  const ids = owned.filter((claim) => claim !== null).map(({ id }) => id);

  // They run what they have.
  const running = workers.slice(0, maxRunning).flatMap((worker, n) => (owned[n] ? [{ worker, claim: owned[n] }] : []));
  const ended = new AbortController();
  const working = await measured(async () => {
    const copies = Promise.all(running.map(({ worker, claim }) => run(worker, claim, ended.signal)));
    await delay(windowMs);
    ended.abort();
    return (await copies).reduce((sum, each) => sum + each, 0);
  });
  await Promise.all(workers.map(({ database: own }) => own.close()));
  while ((await activity()) > 0) await delay(200);
  return {
    workers: size,
    connections,
    memoryMb: memory,
    missedAtRest,
    restCpuMs: atRest.cpuMs / (atRest.ms / 1000),
    claimMs: quantile(single, 0.5),
    claim95Ms: quantile(single, 0.95),
    claimCpuMs: claims.cpuMs / singles,
    settleCpuMs: settles.cpuMs / singles,
    burstMs: burst.ms,
    burst95Ms: quantile(
      burst.result.map(({ ms }) => ms),
      0.95,
    ),
    burstCpuMs: burst.cpuMs / size,
    burstMissed: size - ids.length,
    doubled: ids.length - new Set(ids).size,
    takeoverMs: quantile(taken, 0.5),
    takeoverMaxMs: Math.max(...taken),
    running: running.length,
    copyCpuMs: working.cpuMs / working.result,
    copiesPerSecond: working.result / (working.ms / 1000),
    load: loadavg()[0] ?? 0,
  };
};

const rows = [];
try {
  for (const size of sizes) {
    rows.push(await measure(size));
    process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`);
  }
} finally {
  await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

const number = (/** @type {number} */ value, digits = 1) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const table = [
  '| workers | one claim, median (95 %) | server CPU: claim, end with a notification | all at once: 95 %, last one | server CPU per claim | claimed twice | takeover after the lease, median (longest) |',
  '| --: | --: | --: | --: | --: | --: | --: |',
  ...rows.map(
    (row) =>
      `| ${number(row.workers, 0)} | ${number(row.claimMs)} ms (${number(row.claim95Ms)} ms) | ${number(row.claimCpuMs)} ms, ${number(row.settleCpuMs)} ms | ${number(row.burst95Ms, 0)} ms, ${number(row.burstMs, 0)} ms | ${number(row.burstCpuMs)} ms | ${row.doubled} | ${number(row.takeoverMs / 1000)} s (${number(row.takeoverMaxMs / 1000)} s) |`,
  ),
  '',
  '| workers | connections at rest | memory of the server | server CPU at rest | server CPU per copy of a running change | load of the machine |',
  '| --: | --: | --: | --: | --: | --: |',
  ...rows.map(
    (row) =>
      `| ${number(row.workers, 0)} | ${number(row.connections, 0)} | ${number(row.memoryMb, 0)} MB | ${number(row.restCpuMs / 10)} % of a core | ${number(row.copyCpuMs)} ms (${number(row.running, 0)} changes, ${number(row.copiesPerSecond, 0)} copies per second) | ${number(row.load)} |`,
  ),
  '',
  `${number(queued, 0)} changes queued, lease ${leaseMs / 1000} s, ${cpus().length} cores for the server, all workers and everything else on the machine, fsync on.`,
].join('\n');
process.stdout.write(`${table}\n`);

if (options.docs) {
  const file = join(root, 'docs', 'scale.md');
  const text = readFileSync(file, 'utf8');
  const [start, end] = ['<!-- measured -->', '<!-- /measured -->'];
  writeFileSync(
    file,
    text.replace(new RegExp(`${start}[\\s\\S]*${end}`), () => `${start}\n\n${table}\n\n${end}`),
  );
}
