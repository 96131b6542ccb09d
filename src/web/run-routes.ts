import type { Redactor } from '../secrets/redact.ts';
import type { IterationDetail, IterationPage, TextPage } from './api.ts';
import { get } from './http/methods.ts';
import { badRequest, notFound } from './http/refusal.ts';
import type { Route, RouteCall } from './http/router.ts';
import { createDiffs, type DiffRequest } from './read/diffs.ts';
import { checkpointName, iterationNumber, wholeNumber } from './read/known-ids.ts';
import type { RunSource } from './read/run-source.ts';
import { summarise } from './read/summarise.ts';

const ofRun = '/api/changes/:change/runs/:run';
const ofIteration = `${ofRun}/iterations/:n`;

/** What can be read of one run. */
export const runRoutes = (sourceOf: (call: RouteCall) => Promise<RunSource>, redactor: Redactor): readonly Route[] => {
  const diffs = createDiffs(redactor);
  const getOf = (path: string, read: (source: RunSource, call: RouteCall) => Promise<object>): Route =>
    get(path, async (call) => read(await sourceOf(call), call));
  return [
    getOf(ofRun, (source) => source.detail()),
    getOf(`${ofRun}/iterations`, iterationsOf),
    getOf(ofIteration, iterationOf),
    getOf(`${ofIteration}/conversation`, conversationOf),
    getOf(`${ofIteration}/prompt`, (source, call) => textOf(source, call, 'prompt')),
    getOf(`${ofIteration}/log`, (source, call) => textOf(source, call, 'log')),
    getOf(`${ofRun}/diff`, async (source, call) => diffs.summary(diffRequest(source, call))),
    getOf(`${ofRun}/diff/file`, async (source, call) => {
      const path = call.query.get('path');
      if (path === null) throw badRequest('"path" is missing.');
      return diffs.file(diffRequest(source, call), path);
    }),
  ];
};

const maxIterations = 2000;

const iterationsOf = async (source: RunSource, { query }: RouteCall): Promise<IterationPage> => {
  const all = await source.iterations();
  const last = all.at(-1)?.iteration ?? 0;
  const from = wholeNumber(query, 'from', 1);
  const to = Math.min(wholeNumber(query, 'to', last), from + maxIterations - 1);
  const iterations = all.filter(({ iteration }) => iteration >= from && iteration <= to);
  return { iterations, last };
};

const iterationOf = async (source: RunSource, { params }: RouteCall): Promise<IterationDetail> => {
  const iteration = iterationNumber(params.n!);
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

const conversationOf = async (source: RunSource, { params, query }: RouteCall) =>
  source.conversation({
    iteration: iterationNumber(params.n!),
    after: query.get('after'),
    before: query.get('before'),
  });

const textOf = async (source: RunSource, { params, query }: RouteCall, what: 'prompt' | 'log'): Promise<TextPage> => {
  const iteration = iterationNumber(params.n!);
  const offset = query.get('offset') === 'end' ? null : wholeNumber(query, 'offset', 0);
  const page = await source.text(iteration, what, { offset, length: wholeNumber(query, 'length', 0) });
  if (page === null) throw notFound(`There is no ${what} of iteration ${iteration}.`);
  return page;
};

const diffRequest = (source: RunSource, { query }: RouteCall): DiffRequest => {
  const [from, to] = [checkpointName(query.get('from')), checkpointName(query.get('to'))];
  const iteration = query.get('iteration');
  return { source, from, to, iteration: iteration === null ? null : String(iterationNumber(iteration)) };
};
