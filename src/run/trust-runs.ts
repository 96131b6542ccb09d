import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Change } from '../changes/source.ts';
import { isOneFile } from '../changes/tasks/read.ts';
import { agentsOf, reviewOf } from '../config/agents.ts';
import { type Config } from '../config/file.ts';
import { describeTarget } from '../config/notify-targets.ts';
import { ownSource, pathInOwnSource, scenarioSource } from '../config/own-commands.ts';
import { prefixFor } from '../config/resolve.ts';
import { userError } from '../errors.ts';
import type { Options } from '../config/flags.ts';
import { allAgents, type CommandOrigin, type GatePlan, gateCommands, type RunPlan } from '../ralph/plan.ts';
import { renderSettings } from '../trust/render.ts';
import { checkTrust, type CheckedSetting } from '../trust/check.ts';
import {
  type CommandKey,
  hashOfAll,
  hashOfCommands,
  includeSource,
  type Setting,
  settingsOf,
  sourceOf,
  withFiles,
} from '../trust/settings.ts';
import { readTrusted } from '../trust/store.ts';
import { commandLine } from '../text/shell-words.ts';
import type { GivenBy } from './given-by.ts';
import { checkCopies, type Consent, requireTrust } from './require-trust.ts';
import type { Harness } from '../harness/harness.ts';
import type { Project } from '../store/project.ts';
import { makePlan, type Planned } from './plan/plan.ts';
import type { RunSpec } from './spec.ts';

export interface TrustedRuns {
  /** Returns the plan of a run as it was when the user was asked; null if it could not be planned. */
  planOf(spec: RunSpec): Planned | null;
  /** Throws if the final plan of a run uses a setting of the project that was not trusted. */
  check(run: OneRun): void;
  /** Throws if a command of the config file would run a file in a worktree that differs from the trusted one. */
  checkIn(root: string, run: OneRun, key: Exclude<CommandKey, 'notify'>): void;
  /** Returns where each command of a run comes from. */
  originsOf(run: OneRun): readonly CommandOrigin[];
  /** Returns the scripts of a command of the config file that have changed since it was trusted. */
  changedScripts(change: string, key: CommandKey): readonly string[];
}

interface OneRun {
  readonly options: Options;
  readonly plan: Pick<RunPlan, 'change' | 'agents' | 'gate'>;
  /** The run that it resumes. */
  readonly previous: Planned['previous'];
}

export interface TrustRunsRequest {
  readonly project: Project;
  readonly config: Config;
  readonly specs: readonly RunSpec[];
  /** The number of runs at the same time, each in a worktree. */
  readonly parallel: number;
  readonly env: NodeJS.ProcessEnv;
  readonly findHarness: (name: string) => Harness;
  readonly consent: Consent;
  readonly givenBy: GivenBy;
}

/** Asks the user to trust the settings of the project that these runs use. Throws if they are not trusted. */
export const trustRuns = async (given: TrustRunsRequest): Promise<TrustedRuns> => {
  const { project, specs, env, consent } = given;
  const plans = new Map(await Promise.all(specs.map(async (spec) => [spec, await planIfPossible(spec, env)] as const)));
  const expected = [...plans].map(([spec, planned]) => expectedRun(spec, planned));
  const requestFor = (...runs: readonly OneRun[]): TrustRunsRequest => ({
    ...given,
    config: runs.reduce((config, run) => withRecorded({ ...given, config }, run), given.config),
  });
  const { config, ...request } = requestFor(...expected);
  const needed = new Set(expected.flatMap((run) => neededBy({ ...request, config }, run)));
  const trusted = await requireTrust({ project, config, env, needed, consent });
  const isTrusted = ({ source, hash }: Setting) =>
    trusted.some((setting) => setting.source === source && setting.hash === hash);
  return {
    planOf: (spec) => plans.get(spec) ?? null,
    check: (run) => {
      const own = requestFor(run);
      const sources = neededBy(own, run);
      const settings = settingsOf(project, own.config);
      const open = settings.filter((setting) => sources.includes(setting.source) && !isTrusted(setting));
      if (open.length === 0) return;
      consent.say(renderSettings(checkTrust(open, [])));
      throw userError('untrusted-project', project.root, hashOfAll(settings), false);
    },
    checkIn: (root, run, key) => {
      const { config } = requestFor(run);
      const sources = neededBy({ ...request, config }, run);
      const isRelevant = (source: string) =>
        key === 'harness'
          ? allAgents(run.plan).some(({ harness }) => source === sourceOf(`harnesses.${harness}`))
          : source === sourceFor(config, run.plan.change, key) ||
            (key === 'verify' && source === scenarioSource(run.plan.change));
      const needed = new Set(sources.filter(isRelevant));
      const howToSee = (path: string) => {
        const files = [join(project.root, path), join(root, path)];
        const [here, there] = files.map((file) => (existsSync(file) ? relative(project.root, file) : '/dev/null'));
        return commandLine('git', 'diff', '--no-index', '--', here!, there!);
      };
      checkCopies({ project, config, env, needed, trusted, root, howToSee });
    },
    originsOf: (run) => originsOf(requestFor(run), trusted, run),
    changedScripts: (change, key) => {
      if (specs[0]?.explicit.has(key)) return [];
      const now = withFiles(settingsOf(project, config), new Set([sourceFor(config, change, key)]));
      return now.filter((setting) => !isTrusted(setting)).map(({ source }) => source);
    },
  };
};

/** A run that cannot be planned is reported when it starts. */
const planIfPossible = (spec: RunSpec, env: NodeJS.ProcessEnv): Promise<Planned | null> =>
  makePlan({ ...spec, env }).catch(() => null);

const expectedRun = ({ target, options }: RunSpec, planned: Planned | null): OneRun => ({
  options,
  plan: planned?.plan ?? { change: target.id, agents: agentsOf(options), gate: gateOf(options) },
  previous: planned?.previous ?? null,
});

const gateOf = ({ verify, verifyEach, requireTasks, allowTampering, ...options }: Options): GatePlan => {
  const review = reviewOf(options);
  return { verify, verifyEach, requireTasks, allowTampering, ...(review && { review }) };
};

const specOf = ({ specs }: TrustRunsRequest, change: string): RunSpec =>
  specs.find(({ target }) => target.id === change)!;

/** Returns the sources of the settings that a run uses. */
const neededBy = (request: TrustRunsRequest, { options, plan, previous }: OneRun): string[] => {
  const { change } = plan;
  const { config, specs, parallel } = request;
  const { explicit } = specOf(request, change);
  const hasWorktree =
    options.worktree || (specs.length > 1 && parallel > 1) || Boolean(previous?.view.workspace?.worktree);
  const uses: Readonly<Record<CommandKey, boolean>> = {
    harness: true,
    escalate: true,
    // A resumed run keeps commands that the user gave it.
    verify: isSame(plan.gate.verify, verifyIn(config, change)),
    worktreeSetup: hasWorktree || Boolean(plan.gate.redFirst),
    notify: true,
    review: plan.gate.review !== undefined,
    reviewPrompt: plan.gate.review !== undefined,
  };
  return [
    ...(Object.keys(uses) as CommandKey[])
      .filter((key) => uses[key] && !explicit.has(key))
      .map((key) => sourceFor(config, change, key)),
    ...(plan.gate.scenarioCommands ? [scenarioSource(change)] : []),
    ...allAgents(plan).map(({ harness }) => sourceOf(`harnesses.${harness}`)),
    ...(hasWorktree || plan.gate.redFirst ? [includeSource] : []),
    sourceOf('permissions.allow'),
  ];
};

interface RecordedVerify extends Pick<TrustRunsRequest, 'project' | 'config' | 'env'> {
  readonly change: string;
  readonly target: Pick<Change, 'proposalFile' | 'tasksFile'>;
  readonly commands: readonly string[];
}

/**
 * Adds the verify commands that a run has recorded from its project, if the project has others or none by now: they run
 * the scripts of the project all the same.
 */
export const withRecordedVerify = (of: RecordedVerify): Config => {
  const { project, config, env, change, target, commands } = of;
  if (commands.length === 0 || isSame(commands, verifyIn(config, change))) return config;
  const hash = hashOfCommands(commands);
  const known = readTrusted(env, project).filter((each) => each.hash === hash && isVerifySource(each.source));
  const expected = isOneFile(target) ? ownSource(target.tasksFile) : sourceFor(config, change, 'verify');
  const source = known.at(-1)?.source ?? expected;
  return { ...config, ownVerify: new Map([...(config.ownVerify ?? []), [change, { source, commands }]]) };
};

const withRecorded = (request: TrustRunsRequest, { plan, previous }: OneRun): Config => {
  const { change } = plan;
  const { target, explicit } = specOf(request, change);
  const isOwn = explicit.has('verify') || previous?.view.settings?.explicit.includes('verify');
  const config = isOwn
    ? request.config
    : withRecordedVerify({ ...request, change, target, commands: plan.gate.verify });
  return withScenarioVerify(config, change, commandsOfScenarios(plan.gate));
};

/** Adds the `**Verify**:` commands of the scenarios of a change. */
export const withScenarioVerify = (config: Config, change: string, commands: readonly string[]): Config => {
  if (commands.length === 0) return config;
  const own = { source: scenarioSource(change), commands };
  return { ...config, scenarioVerify: new Map([...(config.scenarioVerify ?? []), [change, own]]) };
};

const commandsOfScenarios = ({ scenarioCommands = {} }: GatePlan): readonly string[] =>
  gateCommands({ verify: [], scenarioCommands });

const isVerifySource = (source: string) =>
  pathInOwnSource(source) !== null || /^config\.json (?:.* )?verify$/.test(source);

/** The verify commands that a project has for a change. */
const verifyIn = ({ values, changes, ownVerify }: Config, change: string): readonly string[] => {
  const own = ownVerify?.get(change)?.commands;
  const prefix = prefixFor(changes, change);
  const value = own ?? (prefix === undefined ? undefined : changes.get(prefix)!.values.verify) ?? values.verify ?? [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
};

const isSame = (one: readonly string[], other: readonly string[]) => JSON.stringify(one) === JSON.stringify(other);

/** Settings for a change override those for all changes. */
export const sourceFor = ({ changes, ownVerify }: Config, change: string, key: CommandKey): string => {
  const own = key === 'verify' ? ownVerify?.get(change) : undefined;
  if (own !== undefined) return own.source;
  const prefix = prefixFor(changes, change);
  const isSpecial = prefix !== undefined && changes.get(prefix)!.values[key] !== undefined;
  return sourceOf(key, isSpecial ? prefix : undefined);
};

const originsOf = (request: TrustRunsRequest, trusted: readonly CheckedSetting[], run: OneRun): CommandOrigin[] => {
  const { config, givenBy, findHarness } = request;
  const { options, plan } = run;
  const { change } = plan;
  const { explicit } = specOf(request, change);
  const fromFile = (source: string) => trusted.find((setting) => setting.source === source);
  const origin = (key: CommandOrigin['key'], command: string): CommandOrigin => {
    if (explicit.has(key)) return { key, command, ...givenBy(key), hash: null, trusted: null };
    const setting = fromFile(sourceFor(config, change, key));
    if (!setting?.commands.includes(command))
      return { key, command, source: 'the last run', setBy: 'last run', hash: null, trusted: null };
    return { key, command, ...trustOf(setting) };
  };
  const customAgents = allAgents(plan).flatMap(({ harness }) => {
    const { custom } = findHarness(harness);
    const setting = fromFile(sourceOf(`harnesses.${harness}`));
    return custom && setting ? [{ key: 'harness' as const, command: setting.commands[0]!, ...trustOf(setting) }] : [];
  });
  return [
    ...customAgents,
    ...plan.gate.verify.map((command) => origin('verify', command)),
    ...commandsOfScenarios(plan.gate).flatMap((command) => {
      const setting = fromFile(scenarioSource(change));
      return setting ? [{ key: 'verify' as const, command, ...trustOf(setting) }] : [];
    }),
    ...(options.worktreeSetup === null ? [] : [origin('worktreeSetup', options.worktreeSetup)]),
    ...options.notify.map((target) => ({ ...origin('notify', target), command: describeTarget(target) })),
  ];
};

const trustOf = ({ source, hash, since }: CheckedSetting) => ({
  source,
  setBy: 'project' as const,
  hash,
  trusted: since ?? 'SPOOL_TRUST',
});
