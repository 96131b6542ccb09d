import { UserError } from '../errors.ts';
import { readScenarios } from '../report/proof/read.ts';
import { createRedactor } from '../secrets/redact.ts';
import { newTempIndex } from '../store/folders.ts';
import type { Project } from '../store/project.ts';
import { withoutControls } from '../text/controls.ts';
import { createActions } from './actions/actions.ts';
import type { ProofDetail, Row } from './api.ts';
import { get, post } from './http/methods.ts';
import { notFound } from './http/refusal.ts';
import type { Route, RouteCall } from './http/router.ts';
import { openClient } from './live/client.ts';
import { createOverviewStream } from './live/overview-stream.ts';
import { createRunStreams } from './live/run-streams.ts';
import { createConversations } from './read/conversation.ts';
import { findRemote, findRun } from './read/find-run.ts';
import { createHistories } from './read/history.ts';
import { knownChange } from './read/known-ids.ts';
import type { LocalReaders } from './read/local-run.ts';
import { createOverviewReader, type OverviewReader } from './read/overview.ts';
import { createRunReader } from './read/run.ts';
import type { Subject } from './read/subject.ts';
import type { RemoteRuns } from './remote.ts';
import { runRoutes } from './run-routes.ts';

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
  const readers = createReaders({ project, env, redactor, remote }, readOnly);
  const { overview, runs } = readers;
  const actions = createActions({ ...readers, readOnly, onDone: overview.drop });
  // Without the characters between its parts, a secret is whole again: they are removed first.
  const clean = redactor.after(withoutControls);
  const toJson = (value: unknown) => JSON.stringify(clean.data(value));
  const overviewStream = createOverviewStream({ read: overview.read, toJson });
  const runStreams = createRunStreams(toJson);
  const sourceOf = ({ params }: RouteCall) => findRun(readers, params.change!, params.run!);

  return {
    routes: [
      get('/api/overview', overview.read),
      get('/api/changes/:change', async ({ params }) => runs.change(await knownRow(readers, params.change!))),
      get('/api/changes/:change/proof', ({ params }) => readProof(readers, params.change!)),
      ...runRoutes(sourceOf, redactor),
      get('/api/stream/overview', async ({ request, reply }) => overviewStream.open(openClient(request, reply))),
      get('/api/stream/changes/:change/runs/:run', async (call) =>
        runStreams.of(await sourceOf(call)).open(openClient(call.request, call.reply)),
      ),
      post('/api/preview', actions.preview),
      post('/api/actions', actions.act),
    ],
    toJson,
    close: () => {
      overviewStream.close();
      runStreams.close();
      actions.close();
      void remote?.close();
    },
  };
};

interface Readers extends LocalReaders {
  readonly overview: OverviewReader;
}

const createReaders = (subject: Subject, readOnly: boolean): Readers => {
  const { project, env } = subject;
  const histories = createHistories(project);
  const overview = createOverviewReader({ ...subject, readOnly, histories });
  let index: string | null = null;
  return {
    ...subject,
    histories,
    overview,
    rowOf: overview.row,
    conversations: createConversations(project),
    runs: createRunReader({ ...subject, histories }),
    indexFile: () => (index ??= newTempIndex(env)),
  };
};

const knownRow = async (readers: Readers, given: string): Promise<Row> => {
  const row = await readers.rowOf(await knownChange(readers, given));
  if (row === null) throw notFound('There is no such change.');
  return row;
};

/** Of the run that is shown as the latest one. Without the queue, that of this machine. */
const readProof = async (readers: Readers, given: string): Promise<ProofDetail> => {
  const { project, env } = readers;
  const change = await knownChange(readers, given);
  const remote = await findRemote(readers, change);
  const isRemote = remote !== null && !(remote instanceof UserError) && remote.view !== null;
  const sent = isRemote ? { view: remote.view, ledger: await remote.ledger() } : null;
  return readScenarios({ project, env, change }, sent);
};
