import { resolveChange } from './changes/sources.ts';
import { flagNames, type FlagName, flagOf } from './config/flags.ts';
import { parseFlags, type RawFlags } from './config/resolve.ts';
import { asUserError } from './errors.ts';
import { withEnvironment } from './files/environment.ts';
import type { AgentFunction } from './harness/agent-function.ts';
import { functionHarness, openFunction } from './harness/function.ts';
import { stopSignalsOf } from './process/signals.ts';
import type { ControlCommand } from './ralph/control.ts';
import type { IterationRecord } from './ralph/record.ts';
import type { RunEvent } from './ralph/events.ts';
import { currentStatus, type RunResult, type RunView } from './ralph/view.ts';
import { forProgram } from './report/display.ts';
import { startHeadless } from './run/headless.ts';
import { cleanUpSandboxes } from './sandbox/clean-up.ts';
import { createIncrementalRedactor, createRedactor } from './secrets/redact.ts';
import { requestControl } from './store/control.ts';
import { followRun as follow } from './store/follow.ts';
import { lastRecords } from './store/history.ts';
import { findProject, type Project } from './store/project.ts';
import { userStateFolder } from './store/user-state/folder.ts';
import { asRecorded } from './store/user-state/steps.ts';
import { loadRun, loopOwner } from './store/state.ts';
import { withoutControls } from './text/controls.ts';

export type { AgentFunction, FunctionTurn } from './harness/agent-function.ts';
export type { AgentEvent, Usage } from './ralph/agent-events.ts';
export type { IterationRecord } from './ralph/record.ts';
export type { RunEvent, StopReason } from './ralph/events.ts';
export type { RunResult, RunView } from './ralph/view.ts';
export type { Project };

/** What the caller got wrong, or what the machine lacks. Anything else that is thrown is a bug in Spool. */
export class SpoolError extends Error {
  /** One of the codes in docs/errors.md. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'SpoolError';
    this.code = code;
  }
}

/** Opens the project at or above a folder. */
export const openProject = (folder: string): Project => {
  try {
    return findProject(folder);
  } catch (error) {
    throw asSpoolError(error);
  }
};

/** Settings as in .spool/config.json: `{ maxIterations: 5, verify: ['npm test'], maxDuration: '2h' }`. */
export type Settings = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface StartOptions {
  readonly project: Project;
  /** The ID of a change, or a prefix that only it has. */
  readonly change: string;
  /** What to ask for besides the change. */
  readonly prompt?: string;
  /** Override the config file of the project and SPOOL_* variables. */
  readonly settings?: Settings;
  /** Agents that are functions, by name. The first one runs unless `settings.harness` names another. */
  readonly agents?: Readonly<Record<string, AgentFunction>>;
  readonly onEvent?: (event: RunEvent, view: RunView) => void;
  /** Called with what belongs to no event. */
  readonly onWarning?: (text: string) => void;
  /** Aborting it stops the run after its agent has ended, as Ctrl-C does. */
  readonly signal?: AbortSignal;
  /** The environment of agents, commands and git. Defaults to process.env. */
  readonly env?: NodeJS.ProcessEnv;
  /** Run the commands of the project's config file even if the user has not trusted them. Defaults to false. */
  readonly trustProject?: boolean;
}

/** Runs a change until it is done, or until something ends the run. Several runs can be started at the same time. */
export const startRun = (options: StartOptions): Promise<RunResult> => {
  const { env = process.env } = options;
  return withEnvironment(env, () => start({ ...options, env }));
};

const start = async (options: StartOptions & Required<Pick<StartOptions, 'env'>>): Promise<RunResult> => {
  const { project, prompt = '', agents = {}, onEvent, onWarning, env } = options;
  const warn = (text: string) => onWarning?.(withoutControls(text));
  // The timers of a run do not keep Node alive, and an agent that is a function may have nothing that does.
  const keepAlive = setInterval(() => {}, 2 ** 30);
  try {
    for (const line of await cleanUpSandboxes(env)) warn(line);
    const isFunction = (name: string) => Object.hasOwn(agents, name);
    const result = await startHeadless({
      project,
      change: await resolveChange(project, options.change),
      prompt,
      settings: parseSettings({ ...firstAgent(agents, options.settings), ...options.settings }),
      env,
      ...(options.trustProject === undefined ? {} : { trustProject: options.trustProject }),
      adapt: ({ findHarness, openSession, missingAgent }) => ({
        findHarness: (name) => (isFunction(name) ? functionHarness(name) : findHarness(name)),
        openSession: (harness, scope) =>
          isFunction(harness.name) ? openFunction(agents[harness.name]!, scope) : openSession(harness, scope),
        missingAgent: (harness, lookup) => (isFunction(harness.name) ? null : missingAgent(harness, lookup)),
      }),
      reporter: {
        onEvent: onEvent ? forProgram(onEvent, createRedactor(env)) : () => {},
        warn,
        drained: () => null,
        dispose: () => {},
      },
      onStopSignals: () => stopSignalsOf(options.signal),
    });
    return createCleaner(env)({ ...result, detail: withoutFlags(result.detail) });
  } catch (error) {
    throw asSpoolError(error);
  } finally {
    clearInterval(keepAlive);
  }
};

export interface SavedRun {
  /** `interrupted` for a run whose process is gone. */
  readonly status: RunView['status'];
  readonly view: RunView;
  /** The last iterations, oldest first. */
  readonly iterations: readonly IterationRecord[];
}

/** Reads the last run of a change, from any process that shares the folder; null if there is none. */
export const readRun = async (
  project: Project,
  change: string,
  { iterations = 10, env = process.env }: { iterations?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<SavedRun | null> => {
  try {
    const id = await resolveChange(project, change);
    const { view: saved } = await loadRun(project, id);
    if (saved === null) return null;
    const view = asRecorded(userStateFolder(project, id, env), saved);
    const { records } = lastRecords(project, id, iterations);
    return createCleaner(env)({
      status: currentStatus(view, loopOwner(project, id) !== null),
      view,
      iterations: records.filter(({ run }) => run === view.run),
    });
  } catch (error) {
    throw asSpoolError(error);
  }
};

/**
 * Yields the events of a run from the first one on, then those that follow while it runs, each with the view that it
 * led to. Ends with the run. Follows the current or last run unless `run` names another. `env` says where the user's
 * state folder is.
 */
export async function* followRun(
  project: Project,
  change: string,
  options: { run?: string; signal?: AbortSignal; env?: NodeJS.ProcessEnv } = {},
): AsyncGenerator<{ readonly event: RunEvent | null; readonly view: RunView }, void, undefined> {
  try {
    const clean = createCleaner(options.env ?? process.env);
    const cleanView = createIncrementalRedactor<RunView>({ data: clean });
    for await (const { event, view } of follow(project, await resolveChange(project, change), options))
      yield { event: clean(event), view: cleanView(view) };
  } catch (error) {
    throw asSpoolError(error);
  }
}

/** Asks the run of a change, in any process that shares the folder, to stop. Returns false if none is running. */
export const stopRun = (
  project: Project,
  change: string,
  { afterIteration = false }: { afterIteration?: boolean } = {},
): Promise<boolean> => request(project, change, afterIteration ? 'stop-after-iteration' : 'stop');

/** Asks the run of a change to pause before its next iteration. Returns false if none is running. */
export const pauseRun = (project: Project, change: string): Promise<boolean> => request(project, change, 'pause');

/**
 * Lets a paused run continue. Returns false if none is running. `env` says where the user's state folder is: a request
 * from elsewhere counts only once the run is paused, since an agent could have sent it.
 */
export const resumeRun = (
  project: Project,
  change: string,
  { env = process.env }: { env?: NodeJS.ProcessEnv } = {},
): Promise<boolean> => request(project, change, 'resume', env);

const request = async (
  project: Project,
  change: string,
  command: ControlCommand,
  env: NodeJS.ProcessEnv = process.env,
): Promise<boolean> => {
  try {
    return requestControl(project, await resolveChange(project, change), command, { env }) === 'sent';
  } catch (error) {
    throw asSpoolError(error);
  }
};

const firstAgent = (agents: NonNullable<StartOptions['agents']>, settings: Settings = {}): Settings => {
  const [harness] = Object.keys(agents);
  return harness === undefined || settings.escalate !== undefined ? {} : { harness };
};

const parseSettings = (settings: Settings) => {
  const unknown = Object.keys(settings).find((name) => !flagNames.some((known) => known === name));
  if (unknown !== undefined)
    throw new SpoolError('bad-value', `There is no setting "${unknown}". Settings: ${flagNames.join(', ')}.`);
  const raw: RawFlags = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  );
  return parseFlags(raw);
};

/** Others write to the files of a run, and a program may print what it gets from them. */
const createCleaner = (env: NodeJS.ProcessEnv) => createRedactor(env).after(withoutControls).data;

const asSpoolError = (error: unknown): unknown => {
  const known = asUserError(error);
  return known ? new SpoolError(known.code, withoutControls(withoutFlags(known.message))) : error;
};

/** A program has settings, and no flags. */
const withoutFlags = (text: string): string =>
  text.replaceAll(/--(?:no-)?[a-z]+(?:-[a-z]+)*/g, (flag) => settingOf(flag) ?? flag);

const settingOf = (flag: string): FlagName | undefined => flagNames.find((name) => flagOf(name) === flag);
