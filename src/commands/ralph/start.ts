import { relative, resolve } from 'node:path';
import type { Config } from '../../config/resolve.ts';
import { envOf, flagOf, type Options } from '../../config/flags.ts';
import { noTime, parseValue, expects } from '../../config/values.ts';
import { systemProblem, userError } from '../../errors.ts';
import { readGiven } from '../../files/given.ts';
import { onStopSignals, type StopSignalName } from '../../process/signals.ts';
import type { OnRunEvent, RunView } from '../../ralph/view.ts';
import { createDashboard, renderOutcomes } from '../../report/dashboard.ts';
import { createJsonReporter } from '../../report/json.ts';
import { createLiveReporter } from '../../report/live.ts';
import { forTerminal, withoutSecrets } from '../../report/reporter.ts';
import { runBatch } from '../../run/batch.ts';
import type { PlanRequest } from '../../run/plan.ts';
import type { Person, Reporter, RunServices } from '../../run/services.ts';
import { startRun } from '../../run/start.ts';
import { trustRuns } from '../../run/trust.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { runFolder } from '../../store/state.ts';
import type { Invocation } from '../command.ts';
import { confirmOn, consentOn } from '../consent.ts';
import { describeError, exitCodeFor, worst } from '../exit-codes.ts';

export interface StartRequest
  extends Omit<PlanRequest, 'change' | 'options' | 'env' | 'newRun'>, Pick<RunServices, 'find'> {
  readonly call: Invocation;
  readonly changes: readonly string[];
  readonly config: Config;
  /** Those of the call, and those of each change. */
  readonly options: Options;
  readonly optionsOf: (change: string) => Options;
}

/** Runs the changes on this terminal; answers with the exit code. */
export const startRuns = async (request: StartRequest): Promise<number> => {
  const { call, changes, options, optionsOf } = request;
  const { env, cwd } = call;
  const prompt = options.promptFile === null ? (call.argument ?? '') : await readPromptFile(cwd, options.promptFile);
  const { interactive, json } = optionsOf(changes[0]!);
  const mayAsk = interactive && !json && call.terminal.canPrompt;
  const trusted = await trustRuns({
    ...request,
    env,
    parallel: options.parallel,
    consent: consentOn(call.terminal, mayAsk),
    askedBy: (name) => (call.rawFlags[name] === undefined ? envOf(name) : flagOf(name)),
  });
  const common = { ...request, env, cwd, prompt, trusted };
  return changes.length === 1 ? startOne(common, mayAsk) : startMany(common);
};

interface Started extends StartRequest {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly prompt: string;
  readonly trusted: Awaited<ReturnType<typeof trustRuns>>;
}

const startOne = async (request: Started, mayAsk: boolean): Promise<number> => {
  const { call, changes, optionsOf } = request;
  const change = changes[0]!;
  const options = optionsOf(change);
  let signal: StopSignalName | null = null;
  const { reason } = await startRun({
    ...request,
    change,
    options,
    reporter: reporterOn(call, ownReport(request, options)),
    person: mayAsk ? createPerson(request, change) : null,
    onStopSignals: (onFirst) =>
      onStopSignals((first) => {
        signal = first;
        onFirst(first);
      }),
  });
  return exitCodeFor(reason, signal);
};

const startMany = async (request: Started): Promise<number> => {
  const { call, options, optionsOf } = request;
  const { parallel } = options;
  const board = createDashboard(call.terminal);
  const stopSignals = onStopSignals((signal) => board.log(`${signal}: ending what runs; once more kills it now.`));
  const reportOf = (change: string): OnRunEvent => {
    const redactor = createRedactor(call.env);
    if (optionsOf(change).json) return withoutSecrets(createJsonReporter(call.terminal, change), redactor);
    return parallel > 1 ? forTerminal(board.reportOf(change), redactor) : ownReport(request, optionsOf(change));
  };
  try {
    const outcomes = await runBatch({
      ...request,
      parallel,
      stopSignals,
      say: board.log,
      onError: (change, error) => board.log(`${change}: ${describeError(error).text}`),
      reporterOf: (change) => reporterOn(call, reportOf(change)),
    });
    board.dispose();
    const told = outcomes.map(({ error, ...outcome }) => {
      if (error === undefined) return { ...outcome, code: exitCodeFor(outcome.result?.reason ?? 'complete', null) };
      const { code, text } = describeError(error);
      return { ...outcome, code, note: text.split('\n')[0]! };
    });
    call.terminal.log(`\n${renderOutcomes(told).join('\n')}\n`);
    const signal = stopSignals.received();
    return signal === null ? worst(told.map(({ code }) => code)) : exitCodeFor('interrupted', signal);
  } finally {
    board.dispose();
    stopSignals.dispose();
  }
};

/** One run on the terminal: events as JSON, or as a person reads them. */
const ownReport = ({ project, call, find }: StartRequest, options: Options): OnRunEvent => {
  const redactor = createRedactor(call.env);
  if (options.json) return withoutSecrets(createJsonReporter(call.terminal), redactor);
  const folderOf = ({ change, run }: RunView) => relative(call.cwd, runFolder(project, change, run)) || '.';
  return forTerminal(createLiveReporter(call.terminal, { ...options, harness: find, folderOf }), redactor);
};

const reporterOn = ({ terminal }: Invocation, onEvent: OnRunEvent): Reporter => ({
  onEvent,
  warn: (text) => terminal.log(`${text}\n`),
  drained: terminal.drained,
});

const createPerson = ({ project, call }: StartRequest, change: string): Person => ({
  async agreesToResume(view) {
    const { renderConsent } = await import('../../report/consent.ts');
    const lines = renderConsent(view, project.root);
    call.terminal.log(`The interrupted run of ${change} was not started here by you.\n${lines.join('\n')}\n`);
    return confirmOn(call.terminal)!('Resume it?');
  },
  async chooseUntil(passed) {
    const { askText } = await import('../../report/prompts.ts');
    const problem = (answer: string) =>
      answer.trim() === '' || parseValue('clock', answer) !== null ? undefined : `--until ${expects.clock}.`;
    const answer = await askText(`--until ${passed} has passed. New stop time (empty for none):`, problem);
    return answer === null ? null : answer.trim() || noTime;
  },
});

const readPromptFile = async (cwd: string, path: string): Promise<string> => {
  const text = await readGiven(resolve(cwd, path)).catch((error: unknown) => {
    throw userError('bad-prompt-file', path, systemProblem(error));
  });
  if (text.trim() === '') throw userError('empty-prompt-file', path);
  return text;
};
