import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { userError } from '../errors.ts';
import { readRegular } from '../files/regular.ts';
import { onStopSignals } from '../process/signals.ts';
import { say } from '../report/message.ts';
import { findProject } from '../store/project.ts';
import { inUrl, isLoopback } from '../web/http/served-names.ts';
import { usualPort } from '../web/http/server.ts';
import { startWeb, type WebOptions } from '../web/serve.ts';
import type { Invocation } from './registry/command.ts';
import { queueOf } from './with-queue/queue-url.ts';

/** Serves a page that shows and steers the runs of a project, until a signal. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  const queue = await queueOf(invocation, project);
  const options: WebOptions = {
    project,
    // What the page starts uses the same queue.
    env: queue === null ? env : { ...env, SPOOL_QUEUE: queue },
    host: hostOf(rawFlags.host),
    port: portOf(rawFlags.port),
    readOnly: rawFlags.readOnly === true,
    publicUrl: urlOf(rawFlags.url),
    tls: tlsOf(invocation),
    remote: queue === null ? null : (await import('./with-queue/queued-web.ts')).remoteRunsIn(queue, { project, env }),
  };
  const signals = onStopSignals(() => {});
  try {
    const server = await startWeb(options);
    for (const line of notesOn(options, server.port)) say(terminal, line);
    say(terminal, `Serving ${project.root} on ${inUrl(options.host)}:${server.port}. Ctrl-C stops it.`);
    terminal.printResult(`${server.url}\n`);
    if (rawFlags.open) await openPage(server.oneTimeUrl(), invocation);
    await aborted(signals.stop);
    await server.close();
    return 0;
  } finally {
    signals.dispose();
  }
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener('abort', () => done(), { once: true });
  });

const notesOn = ({ host, port, readOnly, tls, publicUrl }: WebOptions, actual: number): string[] => [
  ...(port === null && actual !== usualPort ? [`Port ${usualPort} is in use, so the page is on port ${actual}.`] : []),
  ...(isLoopback(host) || tls !== null || publicUrl?.protocol === 'https:'
    ? []
    : [
        `Other machines on the network can reach ${host}. Without TLS, they can read the token and everything that is shown${readOnly ? '' : ', and start agents with it'}. Pass --tls-cert and --tls-key, or use a reverse proxy with TLS (docs/web.md).`,
      ]),
];

const openPage = async (url: string, { env, terminal }: Invocation): Promise<void> => {
  const { openInBrowser } = await import('../process/browser.ts');
  const problem = await openInBrowser(url, env);
  if (problem !== null) say(terminal, `No browser was opened: ${problem}.`);
};

const hostOf = (value: unknown): string => {
  const host = String(value ?? '127.0.0.1').replace(/^\[(.*)\]$/, '$1');
  if (!/^[\w.:-]{1,253}$/.test(host)) throw userError('bad-value', '--host', 'must be a host name or address', host);
  return host;
};

const portOf = (value: unknown): number | null => {
  if (value === undefined) return null;
  const port = Number(value);
  if (!/^\d{1,5}$/.test(String(value)) || port > 65_535)
    throw userError('bad-value', '--port', 'must be a port number', String(value));
  return port;
};

const urlOf = (value: unknown): URL | null => {
  if (value === undefined) return null;
  const url = URL.canParse(String(value)) ? new URL(String(value)) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.username !== ''
  )
    throw userError(
      'bad-value',
      '--url',
      'must be an address without a path, such as https://spool.example.com',
      String(value),
    );
  return url;
};

const tlsOf = ({ rawFlags, cwd }: Invocation): WebOptions['tls'] => {
  const { tlsCert, tlsKey } = rawFlags;
  if (tlsCert === undefined && tlsKey === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined)
    throw userError('usage', '--tls-cert and --tls-key must be given together.');
  const read = (flag: string, value: unknown): Buffer => {
    const contents = readRegular(resolve(cwd, String(value)));
    if (contents === null) throw userError('bad-value', flag, 'must be a file', String(value));
    return contents;
  };
  const tls = { cert: read('--tls-cert', tlsCert), key: read('--tls-key', tlsKey) };
  try {
    createSecureContext(tls);
    return tls;
  } catch (error) {
    throw userError('bad-tls', String(tlsCert), String(tlsKey), (error as Error).message);
  }
};
