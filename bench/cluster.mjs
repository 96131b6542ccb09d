// npm run bench:cluster: what the queue costs with 1 to 1,000 workers. Times are ratios against a `select 1` of the same
// run. Workers are simulated: each claims, renews and settles with the code of `spool worker`, without agents and git.
//   --quick           up to 100 workers and 1,000 changes
//   --docs            puts the table into docs/scale.md
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL, fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, docs: { type: 'boolean', default: false } },
});
const sizes = options.quick ? [1, 10, 100] : [1, 10, 100, 1000];
const queued = options.quick ? 1000 : 10_000;
const leaseMs = 30_000;
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

/** CPU seconds of the server and all its processes. @param {number} uid */
const serverCpu = (uid) => {
  let ticks = 0;
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each)))
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      if (!/\(postgres\)/.test(stat)) continue;
      if (!readFileSync(`/proc/${name}/status`, 'utf8').includes(`Uid:\t${uid}\t`)) continue;
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It has exited.
    }
  return ticks / 100;
};

const cluster = await load();
const programs = cluster.findPostgres({ folder: null, roots: [root] }, process.env);
if (programs === null) throw new Error('no Postgres server: run "npm install"');
// With fsync, as in production.
const server = await cluster.startServer({ programs, folder: join(folder, 'server'), host: '127.0.0.1', port: 0 });
const uid = process.getuid?.() === 0 ? 65_534 : (process.getuid?.() ?? 0);
const database = await cluster.openDatabase(server.url('postgres'));
await cluster.migrate(database);

/** @param {number} index */
const entry = (index) => ({
  project,
  id: `change-${index}`,
  priority: index % 3,
  labels: index % 4 === 0 ? ['agent=claude'] : [],
  requirements: index % 5 === 0 ? [`capability: requirement ${index}`] : [],
  request: {
    v: 1,
    prompt: '',
    source: 'spool',
    base: { branch: 'main', commit: '0'.repeat(40) },
    folder: '',
    settings: {},
    fresh: false,
  },
});

const rows = [];
try {
  for (const workers of sizes) {
    await database.query('truncate spool.change, spool.attempt, spool.ledger, spool.event, spool.inbox');
    const floor = [];
    for (let n = 0; n < 200; n++) floor.push((await timed(() => database.query('select 1'))).ms);
    const floorMs = quantile(floor, 0.5);
    const add = await timed(async () => {
      for (let from = 0; from < queued; from += 500)
        await cluster.addToQueue(
          database,
          Array.from({ length: Math.min(500, queued - from) }, (_, n) => entry(from + n)),
          { by: 'bench', maxCostUsd: null },
        );
    });
    const claimants = Array.from({ length: workers }, (_, n) => ({
      name: `worker-${n}`,
      host: 'bench',
      projects: [project],
      labels: ['agent=claude'],
      leaseMs,
    }));
    // All workers take a change at the same time, over the connections that the server allows.
    const pools = await Promise.all(
      Array.from({ length: Math.min(workers, 25) }, () => cluster.openDatabase(server.url('postgres'))),
    );
    const poolOf = (/** @type {number} */ n) => pools[n % pools.length];
    const claims = await timed(() =>
      Promise.all(claimants.map((claimant, n) => timed(() => cluster.claimNext(poolOf(n), claimant)))),
    );
    const taken = claims.result.map(({ result }) => result);
    const doubled = taken.length - new Set(taken.map((claim) => claim?.id)).size;
    // One change after the other by one worker, with the others at rest.
    const single = [];
    for (let n = 0; n < 50; n++) {
      const { result, ms } = await timed(() => cluster.claimNext(database, { ...claimants[0], name: 'single' }));
      if (result === null) break;
      single.push(ms);
      await cluster.settle(database, result, { state: 'complete', detail: null });
    }
    // A third of a lease: everybody renews once, and looks for work every two seconds.
    const before = serverCpu(uid);
    const windowMs = 10_000;
    const renewals = await Promise.all(
      claimants.map(async (claimant, n) => {
        await delay(Math.random() * windowMs);
        return (await timed(() => cluster.renewClaims(poolOf(n), claimant, taken[n] ? [taken[n]] : []))).ms;
      }),
    );
    const cpuShare = (serverCpu(uid) - before) / (windowMs / 1000);
    await Promise.all(pools.map((pool) => pool.close()));
    rows.push({
      workers,
      addPerSecond: Math.round(queued / (add.ms / 1000)),
      floorMs,
      claim: quantile(single, 0.5) / floorMs,
      claim95: quantile(single, 0.95) / floorMs,
      burstPerSecond: Math.round(workers / (claims.ms / 1000)),
      renew: quantile(renewals, 0.5) / floorMs,
      cpuPercent: cpuShare * 100,
      doubled,
    });
    process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`);
  }
} finally {
  await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

const number = (/** @type {number} */ value, digits = 1) => value.toFixed(digits);
const table = [
  '| workers | changes added per second | one claim, median (95 %) | claims per second, all at once | one renewal | server CPU for the renewals | claimed twice |',
  '| --: | --: | --: | --: | --: | --: | --: |',
  ...rows.map(
    (row) =>
      `| ${row.workers.toLocaleString('en')} | ${row.addPerSecond.toLocaleString('en')} | ${number(row.claim)} × (${number(row.claim95)} ×) | ${row.burstPerSecond.toLocaleString('en')} | ${number(row.renew)} × | ${number(row.cpuPercent)} % of a core | ${row.doubled} |`,
  ),
  '',
  `Floor: one \`select 1\` over the same connection, ${rows.map((row) => `${number(row.floorMs, 2)} ms`).join(', ')}. ${queued.toLocaleString('en')} changes queued, lease ${leaseMs / 1000} s, ${cpus().length} cores, fsync on.`,
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
