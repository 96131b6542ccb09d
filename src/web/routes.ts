import { asUserError, UserError } from '../errors.ts';
import { readScenarios } from '../report/proof/read.ts';
import { createRedactor } from '../secrets/redact.ts';
import { newTempIndex } from '../store/folders.ts';
import type { Project } from '../store/project.ts';
import { runsOf } from '../store/runs.ts';
import { withoutControls } from '../text/controls.ts';
import { createActions } from './actions/actions.ts';
import type { IterationDetail, IterationPage, ProofDetail, TextPage } from './api.ts';
import { readBody } from './http/body.ts';
import { badRequest, notFound } from './http/refusal.ts';
import type { Route, RouteCall } from './http/router.ts';
import { openClient } from './live/client.ts';
import { createOverviewStream } from './live/overview-stream.ts';
import { createRunStream, type RunStream } from './live/run-stream.ts';
import { createConversations } from './read/conversation.ts';
import { createDiffs, type DiffRequest } from './read/diffs.ts';
import { createHistories } from './read/history.ts';
import { checkpointName, iterationNumber, knownChange, knownRun, wholeNumber } from './read/known-ids.ts';
import { localRun, type LocalReaders } from './read/local-run.ts';
import { createOverviewReader } from './read/overview.ts';
import { remoteRun } from './read/remote-run.ts';
import { createRunReader } from './read/run.ts';
import type { RunSource } from './read/run-source.ts';
import type { Subject } from './read/subject.ts';
import { summarise } from './read/summarise.ts';
import type { RemoteRuns } from './remote.ts';

export interface RoutesOptions {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly readOnly: boolean;
  /** null without a queue. */
  readonly remote: RemoteRuns | null;
}

export interface Routes {
  readonly routes: readonly Route[];
  /** JSON without secrets and control characters. */
  toJson(value: unknown): string;
  /** Ends all streams, and commands that are running. */
  close(): void;
}

/** The API. */
export const createRoutes = ({ project, env, readOnly, remote }: RoutesOptions): Routes => {
  const redactor = createRedactor(env);
  const subject: Subject = { project, env, redactor, remote };
  const histories = createHistories(project);
  const overview = createOverviewReader({ ...subject, readOnly, histories });
  const conversations = createConversations(project);
  const runs = createRunReader({ ...subject, histories });
  let index: string | null = null;
  const indexFile = () => (index ??= newTempIndex(env));
  const readers: LocalReaders = { ...subject, histories, conversations, runs, rowOf: overview.row, indexFile };
  const diffs = createDiffs(redactor);
  const actions = createActions({ ...subject, readOnly, rowOf: overview.row, onDone: overview.drop });
  // Without the characters between its parts, a secret is whole again: they are removed first.
  const clean = redactor.after(withoutControls);
  const toJson = (value: unknown) => JSON.stringify(clean.data(value));
  const overviewStream = createOverviewStream({ read: overview.read, toJson });
  const runStreams = new Map<string, RunStream>();

  const rowOf = async ({ params }: RouteCall) => {
    const row = await overview.row(await knownChange(subject, params.change!));
    if (row === null) throw notFound('There is no such change.');
    return row;
  };
  const sourceOf = async ({ params }: RouteCall): Promise<RunSource> => {
    const change = await knownChange(subject, params.change!);
    const given = params.run!;
    const find = async () => (await remote?.find(change)) ?? null;
    const away = await find().catch(asProblem);
    const awayRun = away instanceof UserError ? null : (away?.view?.run ?? null);
    if (awayRun !== null && (given === 'latest' || given === awayRun))
      return remoteRun(readers, { change, run: awayRun, find });
    const wanted = given === 'latest' ? (await overview.row(change))?.run : given;
    // Without the queue, the runs of this machine are shown. Whether it has the others is not known.
    if (away instanceof UserError && !(wanted && runsOf(project, change).includes(wanted))) throw away;
    if (!wanted) throw notFound(`${change} has no run yet.`);
    return localRun(readers, change, knownRun(subject, change, wanted));
  };
  /** Of the run that is shown as the latest one. Without the queue, that of this machine. */
  const proofOf = async ({ params }: RouteCall): Promise<ProofDetail> => {
    const change = await knownChange(subject, params.change!);
    const away = await (remote?.find(change) ?? Promise.resolve(null)).catch(asProblem);
    const isAway = away !== null && !(away instanceof UserError) && away.view !== null;
    const sent = isAway ? { view: away.view, ledger: await away.ledger() } : null;
    return readScenarios({ project, env, change }, sent);
  };
  const streamOf = (source: RunSource): RunStream => {
    const key = `${source.change} ${source.run}`;
    const known = runStreams.get(key);
    if (known) return known;
    const stream = createRunStream({ source, toJson, onIdle: () => void runStreams.delete(key) });
    runStreams.set(key, stream);
    return stream;
  };
  const textOf = async (call: RouteCall, what: 'prompt' | 'log'): Promise<TextPage> => {
    const { params, query } = call;
    const iteration = iterationNumber(params.n!);
    const offset = query.get('offset') === 'end' ? null : wholeNumber(query, 'offset', 0);
    const request = { offset, length: wholeNumber(query, 'length', 0) };
    const page = await (await sourceOf(call)).text(iteration, what, request);
    if (page === null) throw notFound(`There is no ${what} of iteration ${iteration}.`);
    return page;
  };
  const diffOf = async (call: RouteCall): Promise<DiffRequest> => {
    const source = await sourceOf(call);
    const { query } = call;
    const [from, to] = [checkpointName(query.get('from')), checkpointName(query.get('to'))];
    const iteration = query.get('iteration');
    return { source, from, to, iteration: iteration === null ? null : String(iterationNumber(iteration)) };
  };

  const ofRun = '/api/changes/:change/runs/:run';
  const ofIteration = `${ofRun}/iterations/:n`;
  const get = (path: string, read: (call: RouteCall) => Promise<object>): Route => ({
    method: 'GET',
    path,
    handle: read,
  });
  const post = (path: string, act: (body: unknown, gone: AbortSignal) => Promise<object>): Route => ({
    method: 'POST',
    path,
    handle: async ({ request, reply: { response } }) => {
      const left = new AbortController();
      response.once('close', () => left.abort());
      return act(await readBody(request), left.signal);
    },
  });

  const routes: readonly Route[] = [
    get('/api/overview', overview.read),
    get('/api/changes/:change', async (call) => runs.change(await rowOf(call))),
    get('/api/changes/:change/proof', proofOf),
    get(ofRun, async (call) => (await sourceOf(call)).detail()),
    get(`${ofRun}/iterations`, async (call) => iterationsOf(await sourceOf(call), call.query)),
    get(ofIteration, async (call) => iterationOf(await sourceOf(call), iterationNumber(call.params.n!))),
    get(`${ofIteration}/conversation`, async (call) =>
      (await sourceOf(call)).conversation({
        iteration: iterationNumber(call.params.n!),
        after: call.query.get('after'),
        before: call.query.get('before'),
      }),
    ),
    get(`${ofIteration}/prompt`, (call) => textOf(call, 'prompt')),
    get(`${ofIteration}/log`, (call) => textOf(call, 'log')),
    get(`${ofRun}/diff`, async (call) => diffs.summary(await diffOf(call))),
    get(`${ofRun}/diff/file`, async (call) => {
      const path = call.query.get('path');
      if (path === null) throw badRequest('"path" is missing.');
      return diffs.file(await diffOf(call), path);
    }),
    {
      method: 'GET',
      path: '/api/stream/overview',
      handle: async ({ request, reply }) => overviewStream.open(openClient(request, reply)),
    },
    {
      method: 'GET',
      path: '/api/stream/changes/:change/runs/:run',
      handle: async (call) => streamOf(await sourceOf(call)).open(openClient(call.request, call.reply)),
    },
    post('/api/preview', actions.preview),
    post('/api/actions', actions.act),
  ];
  return {
    routes,
    toJson,
    close: () => {
      overviewStream.close();
      for (const stream of runStreams.values()) stream.close();
      actions.close();
      void remote?.close();
    },
  };
};

const asProblem = (error: unknown): UserError => {
  const known = asUserError(error);
  if (known === null) throw error;
  return known;
};

const maxIterations = 2000;

const iterationsOf = async (source: RunSource, query: URLSearchParams): Promise<IterationPage> => {
  const all = await source.iterations();
  const last = all.at(-1)?.iteration ?? 0;
  const from = wholeNumber(query, 'from', 1);
  const to = Math.min(wholeNumber(query, 'to', last), from + maxIterations - 1);
  const iterations = all.filter(({ iteration }) => iteration >= from && iteration <= to);
  return { iterations, last };
};

const iterationOf = async (source: RunSource, iteration: number): Promise<IterationDetail> => {
  const record = await source.record(iteration);
  if (record === null) throw notFound(`Iteration ${iteration} is not in the history yet.`);
  const sizeOf = async (what: 'prompt' | 'log') =>
    (await source.text(iteration, what, { offset: 0, length: 1 }))?.size ?? null;
  return {
    summary: summarise(record),
    record,
    gate: record.gate,
    promptSize: await sizeOf('prompt'),
    logSize: await sizeOf('log'),
    hasDiff: record.checkpoint !== null,
  };
};
