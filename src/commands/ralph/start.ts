import { relative } from 'node:path';
import type { Change } from '../../changes/source.ts';
import { changeOf, checkFiles } from '../../changes/sources.ts';
import type { Resolved } from '../../config/resolve.ts';
import { defaultLimits } from '../../config/default-limits.ts';
import { flagOf, type Options } from '../../config/flags.ts';
import { noTime, parseValue, expects } from '../../config/values.ts';
import { missingBinary } from '../../harness/registry.ts';
import { openSession } from '../../harness/open-session.ts';
import { onStopSignals, type StopSignalName } from '../../process/signals.ts';
import type { RunView } from '../../ralph/view.ts';
import { createDashboard, renderOutcomes } from '../../report/dashboard.ts';
import { createJsonReporter } from '../../report/json.ts';
import { createLiveReporter } from '../../report/live.ts';
import { type Display, forTerminal, redacted } from '../../report/display.ts';
import { lastIterations } from '../../report/shown-iterations.ts';
import { runBatch } from '../../run/batch.ts';
import { reportsIn } from '../../run/plan/agent-reports.ts';
import { createGivenBy } from '../../run/given-by.ts';
import { prepareRuns } from '../../run/prepare-runs.ts';
import type { NewChangeSpec, RunSpec } from '../../run/spec.ts';
import type { CommonServices, Person, Reporter, RunServices } from '../../run/services.ts';
import { startRun } from '../../run/start.ts';
import { createRedactor, type Redactor } from '../../secrets/redact.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { confirmOn, consentOn } from '../user/consent.ts';
import { describeError, exitCodeFor, worst } from '../runs/run-exit-code.ts';
import { runFolder } from '../../store/paths.ts';
import { connectForeground, type Foreground } from './foreground.ts';

export interface StartRequest extends Pick<Resolved, 'config' | 'explicit' | 'fileFor' | 'forChange' | 'passLists'> {
  readonly invocation: Invocation;
  readonly project: Project;
  readonly findHarness: RunServices['findHarness'];
  readonly changes: readonly string[];
  /** The source of the only change, if it may have no run yet. */
  readonly from?: string | null;
  /** Those of the call. */
  readonly options: Options;
  /** Empty if there is none. */
  readonly prompt: string;
  /** The only change, if the run has to create it. */
  readonly newChange?: NewChangeSpec;
}

interface RedactedRequest extends StartRequest {
  /** Removes secrets from what is shown. */
  readonly redactor: Redactor;
  /** Set for a run in the background. */
  readonly foreground: Foreground | null;
}

/** Runs the changes on this terminal. Returns the exit code. */
export const startRuns = async (request: StartRequest): Promise<number> => {
  const targets = await targetsOf(request);
  const { invocation, project, changes, options, prompt, newChange, findHarness } = request;
  const { env, terminal } = invocation;
  const { interactive, json } = request.forChange(changes[0]!);
  const mayPrompt = interactive && !json && terminal.canPrompt;
  const foreground = connectForeground(env);
  const { specs, services, forChange } = await prepareRuns({
    project,
    settings: request,
    targets,
    prompt,
    cwd: invocation.cwd,
    ...(newChange && { newChange }),
    parallel: options.parallel,
    env,
    consent: foreground?.consent ?? consentOn(terminal, mayPrompt),
    givenBy: createGivenBy({ values: invocation.rawFlags, nameOf: flagOf, env }),
    ownsProcess: true,
    findHarness,
    openSession,
    missingAgent: missingBinary,
  });
  const redacting = { ...request, forChange, redactor: createRedactor(env), foreground };
  const person = foreground ? foreground.person : mayPrompt ? createPerson(request, changes[0]!) : null;
  return specs.length === 1
    ? startOne(specs[0]!, { ...services, person }, redacting)
    : startMany(specs, services, redacting);
};

const targetsOf = async ({ project, changes, from }: StartRequest): Promise<Change[]> => {
  const targets = await Promise.all(changes.map((change) => changeOf(project, change, from)));
  for (const target of targets) checkFiles(project, target);
  return targets;
};

const startOne = async (
  spec: RunSpec,
  services: CommonServices & Pick<RunServices, 'person'>,
  request: RedactedRequest,
): Promise<number> => {
  let signal: StopSignalName | null = null;
  const { reason } = await startRun(spec, {
    ...services,
    reporter: reporterOn(request, displayOne(request, spec.options)),
    onStopSignals: (onFirst) =>
      onStopSignals((first) => {
        signal = first;
        onFirst(stoppingText(request));
      }),
  });
  return exitCodeFor(reason, signal);
};

/** A run in the background has no terminal, so it names no key. */
const stoppingText = ({ foreground }: RedactedRequest): string =>
  foreground === null ? 'Stopping… (Ctrl-C again to force quit)' : 'Stopping…';

const startMany = async (
  specs: readonly RunSpec[],
  services: CommonServices,
  request: RedactedRequest,
): Promise<number> => {
  const { invocation, options, forChange, redactor } = request;
  const { parallel } = options;
  const dashboard = createDashboard(
    invocation.terminal,
    specs.map(({ target }) => target.id),
  );
  const stopSignals = onStopSignals(() => dashboard.log(stoppingText(request)));
  const describe = (error: unknown) => redactor.data(describeError(error));
  const displayOf = (change: string): Display => {
    if (forChange(change).json) return redacted(createJsonReporter(invocation.terminal, change), redactor);
    return parallel > 1 ? forTerminal(dashboard.displayOf(change), redactor) : displayOne(request, forChange(change));
  };
  try {
    const outcomes = await runBatch(specs, {
      ...services,
      parallel,
      stopSignals,
      announce: dashboard.log,
      onSkipped: dashboard.skip,
      onError: (change, error) => dashboard.log(about(change, describe(error).text)),
      reporterOf: (change) => reporterOn(request, displayOf(change)),
    });
    dashboard.dispose();
    const described = outcomes.map(({ error, ...outcome }) => {
      const reason = outcome.result?.reason ?? (outcome.isRemoved ? 'interrupted' : 'complete');
      if (error === undefined) return { ...outcome, code: exitCodeFor(reason, null) };
      const { code, text } = describe(error);
      return { ...outcome, code, detail: text.split('\n')[0]! };
    });
    invocation.terminal.log(`\n${renderOutcomes(described, invocation.terminal).join('\n')}\n`);
    const signal = stopSignals.received();
    return signal === null ? worst(described.map(({ code }) => code)) : exitCodeFor('interrupted', signal);
  } finally {
    dashboard.dispose();
    stopSignals.dispose();
  }
};

/** Most errors begin with the change that they are about. */
const about = (change: string, text: string): string =>
  [' ', ':'].some((end) => text.startsWith(`${change}${end}`)) ? text : `${change}: ${text}`;

/** One run on the terminal: events as JSON or as text. */
const displayOne = ({ project, invocation, findHarness, redactor }: RedactedRequest, options: Options): Display => {
  if (options.json) return redacted(createJsonReporter(invocation.terminal), redactor);
  const folderOf = ({ change, run }: RunView) => relative(invocation.cwd, runFolder(project, change, run)) || '.';
  const recordsOf = (view: RunView) => lastIterations(project, view);
  const reports = reportsIn({ options, isSandboxed: options.sandbox, isWorker: false }, findHarness);
  const shown = { ...options, findHarness: reports, folderOf, recordsOf, defaultLimits: defaultLimits() };
  return forTerminal(createLiveReporter(invocation.terminal, shown), redactor);
};

const reporterOn = ({ invocation, foreground }: RedactedRequest, display: Display): Reporter => ({
  ...(foreground?.watch(display) ?? display),
  bell: () => (invocation.terminal.isInteractive ? invocation.terminal.bell() : undefined),
  drained: invocation.terminal.drained,
});

export const createPerson = (
  { project, invocation }: Pick<StartRequest, 'project' | 'invocation'>,
  change: string,
): Person => ({
  async agreesToResume(view) {
    const { renderConsent } = await import('../../report/consent.ts');
    const lines = renderConsent(view, project.root);
    invocation.terminal.log(`The interrupted run of ${change} was not started here by you.\n${lines.join('\n')}\n`);
    return confirmOn(invocation.terminal)!('Resume it?');
  },
  async chooseUntil(passed) {
    const { askText } = await import('../../report/questions.ts');
    const problem = (answer: string) =>
      answer.trim() === '' || parseValue('time-of-day', answer) !== null
        ? undefined
        : `--until ${expects['time-of-day']}.`;
    const answer = await askText(`--until ${passed} has passed. New stop time (empty for none):`, problem);
    return answer === null ? null : answer.trim() || noTime;
  },
});
