import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { agentsOf } from '../config/agents.ts';
import { type Config } from '../config/file.ts';
import { describeTarget } from '../config/notify-targets.ts';
import { prefixFor } from '../config/resolve.ts';
import { userError } from '../errors.ts';
import type { FlagName, Options } from '../config/flags.ts';
import type { CommandOrigin, RunPlan } from '../ralph/plan.ts';
import { renderSettings } from '../trust/render.ts';
import { checkTrust, type CheckedSetting } from '../trust/check.ts';
import {
  type CommandKey,
  hashOfAll,
  includeSource,
  ownSource,
  type Setting,
  settingsOf,
  sourceOf,
  withFiles,
} from '../trust/settings.ts';
import { commandLine } from '../text/shell-words.ts';
import { checkCopies, type Consent, requireTrust } from './require-trust.ts';
import type { Harness } from '../harness/harness.ts';
import type { Project } from '../store/project.ts';
import { type EarlierPlan, type Planned, planRun } from './plan.ts';
import { readLastRun } from './resume/last-run.ts';
import type { RunSpec } from './spec.ts';

export interface TrustedRuns {
  /** Returns the plan of a run as it was when the user was asked; null if it could not be planned. */
  planOf(spec: RunSpec): EarlierPlan | null;
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
  readonly change: string;
  readonly options: Options;
  readonly plan: Pick<RunPlan, 'agents' | 'gate'>;
  /** The run that it resumes. */
  readonly previous: Planned['previous'];
}

export interface TrustRequest {
  readonly project: Project;
  readonly config: Config;
  readonly specs: readonly RunSpec[];
  /** The number of runs at the same time, each in a worktree. */
  readonly parallel: number;
  readonly env: NodeJS.ProcessEnv;
  readonly findHarness: (name: string) => Harness;
  readonly consent: Consent;
  /** Returns the flag or variable by which the user has set a value. */
  readonly givenBy: (name: FlagName) => Required<Pick<CommandOrigin, 'source' | 'setBy'>>;
}

interface TrustContext extends TrustRequest {
  readonly explicit: ReadonlySet<FlagName>;
}

/** Asks the user to trust the settings of the project that these runs use. Throws if they are not trusted. */
export const trustRuns = async (given: TrustRequest): Promise<TrustedRuns> => {
  const { project, config, specs, env, consent } = given;
  const request = { ...given, explicit: specs[0]?.explicit ?? new Set<FlagName>() };
  const plans = new Map(await Promise.all(specs.map(async (spec) => [spec, await planEarly(spec, env)] as const)));
  const needed = new Set([...plans].flatMap(([spec, earlier]) => neededBy(request, expectedRun(spec, earlier))));
  const settings = settingsOf(project, config);
  const trusted = await requireTrust({ project, config, env, needed, consent });
  const isTrusted = ({ source, hash }: Setting) =>
    trusted.some((setting) => setting.source === source && setting.hash === hash);
  return {
    planOf: (spec) => plans.get(spec) ?? null,
    check: (run) => {
      const sources = neededBy(request, run);
      const open = settings.filter((setting) => sources.includes(setting.source) && !isTrusted(setting));
      if (open.length === 0) return;
      consent.say(renderSettings(checkTrust(open, [])));
      throw userError('untrusted-project', project.root, hashOfAll(settings), false);
    },
    checkIn: (root, run, key) => {
      const sources = neededBy(request, run);
      const isRelevant = (source: string) =>
        key === 'harness'
          ? run.plan.agents.some(({ harness }) => source === sourceOf(`harnesses.${harness}`))
          : source === sourceFor(config, run.change, key);
      const needed = new Set(sources.filter(isRelevant));
      const howToSee = (path: string) => {
        const files = [join(project.root, path), join(root, path)];
        const [here, there] = files.map((file) => (existsSync(file) ? relative(project.root, file) : '/dev/null'));
        return commandLine('git', 'diff', '--no-index', '--', here!, there!);
      };
      checkCopies({ project, config, env, needed, trusted, root, howToSee });
    },
    originsOf: (run) => originsOf(request, trusted, run),
    changedScripts: (change, key) => {
      if (request.explicit.has(key)) return [];
      const now = withFiles(settingsOf(project, config), new Set([sourceFor(config, change, key)]));
      return now.filter((setting) => !isTrusted(setting)).map(({ source }) => source);
    },
  };
};

/** A run that cannot be planned is reported when it starts. */
const planEarly = async (spec: RunSpec, env: NodeJS.ProcessEnv): Promise<EarlierPlan | null> => {
  try {
    const lastRun = await readLastRun(spec);
    return { lastRun, planned: planRun({ ...spec, env }, lastRun) };
  } catch {
    return null;
  }
};

const expectedRun = ({ change, options }: RunSpec, earlier: EarlierPlan | null): OneRun => ({
  change,
  options,
  plan: earlier?.planned.plan ?? { agents: agentsOf(options), gate: options },
  previous: earlier?.planned.previous ?? null,
});

/** Returns the sources of the settings that a run uses. */
const neededBy = (request: TrustContext, { change, options, plan, previous }: OneRun): string[] => {
  const { config, explicit, specs, parallel } = request;
  const hasWorktree =
    options.worktree || (specs.length > 1 && parallel > 1) || Boolean(previous?.view.workspace?.worktree);
  const uses: Readonly<Record<CommandKey, boolean>> = {
    harness: true,
    // A resumed run keeps its own commands, unless they have changed in the file.
    verify: JSON.stringify(plan.gate.verify) === JSON.stringify(options.verify),
    worktreeSetup: hasWorktree,
    notify: true,
  };
  return [
    ...(Object.keys(uses) as CommandKey[])
      .filter((key) => uses[key] && !explicit.has(key))
      .map((key) => sourceFor(config, change, key)),
    ...plan.agents.map(({ harness }) => sourceOf(`harnesses.${harness}`)),
    ...(hasWorktree ? [includeSource] : []),
  ];
};

/** Settings for a change override those for all changes. */
export const sourceFor = ({ changes, ownVerify }: Config, change: string, key: CommandKey): string => {
  const own = key === 'verify' ? ownVerify?.get(change) : undefined;
  if (own !== undefined) return ownSource(own.path);
  const prefix = prefixFor(changes, change);
  const isSpecial = prefix !== undefined && changes.get(prefix)!.values[key] !== undefined;
  return sourceOf(key, isSpecial ? prefix : undefined);
};

const originsOf = (request: TrustContext, trusted: readonly CheckedSetting[], run: OneRun): CommandOrigin[] => {
  const { config, explicit, givenBy, findHarness } = request;
  const { change, options, plan } = run;
  const fromFile = (source: string) => trusted.find((setting) => setting.source === source);
  const origin = (key: CommandKey, command: string): CommandOrigin => {
    if (explicit.has(key)) return { key, command, ...givenBy(key), hash: null, trusted: null };
    const setting = fromFile(sourceFor(config, change, key));
    if (!setting?.commands.includes(command))
      return { key, command, source: 'the last run', setBy: 'last run', hash: null, trusted: null };
    return { key, command, ...trustOf(setting) };
  };
  const ownAgents = plan.agents.flatMap(({ harness }) => {
    const { custom } = findHarness(harness);
    const setting = fromFile(sourceOf(`harnesses.${harness}`));
    return custom && setting ? [{ key: 'harness' as const, command: setting.commands[0]!, ...trustOf(setting) }] : [];
  });
  return [
    ...ownAgents,
    ...plan.gate.verify.map((command) => origin('verify', command)),
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
