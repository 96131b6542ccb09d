import { createServer } from 'node:http';
import { once } from 'node:events';
import { userError } from '../errors.ts';
import { version } from '../text/version.ts';
import type { Database } from './database.ts';

/** What a worker counts from its start. */
export interface Counters {
  iterations: number;
  costUsd: number;
  /** Claims that it has lost. */
  lost: number;
  /** Pushes that were rejected because another worker owns the change. */
  refused: number;
  /** Attempts by their outcome. */
  readonly ended: Map<string, number>;
}

export const newCounters = (): Counters => ({ iterations: 0, costUsd: 0, lost: 0, refused: 0, ended: new Map() });

/** What a worker does right now. */
interface WorkerStatus {
  readonly slots: number;
  readonly used: number;
  /** Since the last renewal of its leases. */
  readonly silentMs: number;
  readonly leaseMs: number;
  readonly draining: boolean;
}

export interface MetricsOptions {
  readonly address: { readonly host: string; readonly port: number };
  readonly database: Database;
  readonly worker: string;
  readonly counters: Counters;
  readonly status: () => WorkerStatus;
}

/** Serves /metrics for Prometheus and /healthz. Returns the address, and a function that closes it. */
export const serveMetrics = async (options: MetricsOptions) => {
  const { address, status } = options;
  const server = createServer((request, response) => {
    void (async () => {
      const reply = (code: number, text: string) =>
        response.writeHead(code, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
      if (request.method !== 'GET' && request.method !== 'HEAD') return reply(405, 'only GET\n');
      const { pathname } = new URL(request.url ?? '/', 'http://worker');
      if (pathname === '/healthz') return reply(...health(status()));
      if (pathname !== '/metrics') return reply(404, 'see /metrics and /healthz\n');
      return reply(200, render(options, await queueFigures(options.database)));
    })();
  });
  server.listen(address.port, address.host);
  await once(server, 'listening').catch((error: unknown) => {
    throw userError('metrics-failed', `${address.host}:${address.port}`, (error as NodeJS.ErrnoException).code ?? '');
  });
  const { port } = server.address() as { port: number };
  return {
    url: `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}/metrics`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

const contentType = 'text/plain; version=0.0.4; charset=utf-8';

const health = ({ silentMs, leaseMs, draining }: WorkerStatus): [number, string] => {
  if (silentMs > leaseMs / 2) return [503, `no contact with the queue for ${Math.round(silentMs / 1000)}s\n`];
  return [200, draining ? 'draining\n' : 'ok\n'];
};

const states = ['queued', 'running', 'waiting', 'paused', 'stopped', 'complete', 'failed', 'limit', 'blocked'];

/** How an attempt can end. */
const outcomes = ['lost', ...states.filter((state) => state !== 'running')];

/** What spool.queue_figures returns. */
interface QueueFigures {
  readonly states: Readonly<Record<string, number>>;
  /** Attempts that have ended, by outcome. */
  readonly attempts: Readonly<Record<string, number>>;
  readonly refused: number;
  readonly available: number;
  readonly oldestMs: number;
  readonly silent: number;
  readonly costUsd: number;
  readonly workers: Readonly<Record<'ready' | 'draining' | 'silent', number>>;
}

/** Returns null if the database cannot be reached. */
const queueFigures = async (database: Database): Promise<QueueFigures | null> => {
  try {
    const [row] = await database.query<{ figures: QueueFigures }>('select spool.queue_figures() as figures');
    return row!.figures;
  } catch {
    return null;
  }
};

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly Sample[];
}

const render = ({ worker, counters, status }: MetricsOptions, queue: QueueFigures | null): string => {
  const { slots, used, silentMs, draining } = status();
  const one = (value: number): readonly Sample[] => [[{ worker }, value]];
  const metrics: Metric[] = [
    { name: 'spool_build_info', type: 'gauge', help: 'The version of Spool.', samples: [[{ worker, version }, 1]] },
    { name: 'spool_worker_slots', type: 'gauge', help: 'Changes that the worker runs at most.', samples: one(slots) },
    { name: 'spool_worker_slots_used', type: 'gauge', help: 'Changes that the worker runs.', samples: one(used) },
    {
      name: 'spool_worker_draining',
      type: 'gauge',
      help: '1 if the worker takes no more changes.',
      samples: one(draining ? 1 : 0),
    },
    {
      name: 'spool_worker_renewal_age_seconds',
      type: 'gauge',
      help: 'Time since the worker has renewed its leases.',
      samples: one(Math.round(silentMs) / 1000),
    },
    {
      name: 'spool_worker_iterations_total',
      type: 'counter',
      help: 'Iterations that the worker has finished.',
      samples: one(counters.iterations),
    },
    {
      name: 'spool_worker_cost_usd_total',
      type: 'counter',
      help: 'What these iterations have cost, as far as agents report it.',
      samples: one(counters.costUsd),
    },
    {
      name: 'spool_worker_lease_losses_total',
      type: 'counter',
      help: 'Changes that the worker has lost to another one, or for lack of contact.',
      samples: one(counters.lost),
    },
    {
      name: 'spool_worker_refused_pushes_total',
      type: 'counter',
      help: 'Pushes that were rejected because another worker owns the change.',
      samples: one(counters.refused),
    },
    {
      name: 'spool_worker_attempts_total',
      type: 'counter',
      help: 'Changes that the worker has given back, by the state in which it left them.',
      samples: [...counters.ended].map(([outcome, value]): Sample => [{ worker, outcome }, value]),
    },
    { name: 'spool_queue_up', type: 'gauge', help: '1 if the database answers.', samples: one(queue ? 1 : 0) },
    ...(queue === null ? [] : metricsOf(queue)),
  ];
  return metrics.map(textOf).join('');
};

/** The same from every worker. */
const metricsOf = (queue: QueueFigures): Metric[] => [
  {
    name: 'spool_queue_changes',
    type: 'gauge',
    help: 'Changes in the queue, by state.',
    samples: states.map((state): Sample => [{ state }, queue.states[state] ?? 0]),
  },
  {
    name: 'spool_queue_available',
    type: 'gauge',
    help: 'Changes that a worker with a free slot could take.',
    samples: [[{}, queue.available]],
  },
  {
    name: 'spool_queue_oldest_available_seconds',
    type: 'gauge',
    help: 'How long the change that has been available for the longest time has waited for a worker.',
    samples: [[{}, Math.round(queue.oldestMs) / 1000]],
  },
  {
    name: 'spool_queue_silent',
    type: 'gauge',
    help: 'Running changes whose worker has not renewed its lease.',
    samples: [[{}, queue.silent]],
  },
  {
    name: 'spool_queue_attempts_total',
    type: 'counter',
    help: 'Attempts of all workers that have ended, by outcome. Those of a worker that died are lost.',
    samples: outcomes.map((outcome): Sample => [{ outcome }, queue.attempts[outcome] ?? 0]),
  },
  {
    name: 'spool_queue_refused_pushes_total',
    type: 'counter',
    help: 'Pushes of all workers that were rejected because another worker owns the change.',
    samples: [[{}, queue.refused]],
  },
  {
    name: 'spool_queue_cost_usd_total',
    type: 'counter',
    help: 'What all changes have cost, as far as agents report it.',
    samples: [[{}, queue.costUsd]],
  },
  {
    name: 'spool_queue_workers',
    type: 'gauge',
    help: 'Workers, by state.',
    samples: Object.entries(queue.workers).map(([state, value]): Sample => [{ state }, value]),
  },
];

const textOf = ({ name, type, help, samples }: Metric): string =>
  samples.length === 0
    ? ''
    : [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}`),
        '',
      ].join('\n');

const labelText = (labels: Sample[0]): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
};

const escaped = (value: string): string =>
  value.replaceAll(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
