import { type Config, prefixFor } from '../../config.ts';
import { envOf, flagOf, type FlagName, type Options } from '../../flags.ts';
import type { Harness } from '../../harness/harness.ts';
import type { CommandOrigin, RunPlan } from '../../ralph/events.ts';
import type { Judged } from '../../trust/judge.ts';
import { type CommandKey, includeSource, type Setting, settingsOf, sourceOf, withFiles } from '../../trust/settings.ts';
import type { Call } from '../command.ts';
import { requireTrust } from '../trust/require.ts';
import { agentsOf, planRun, type PlanRequest } from './plan.ts';

export interface TrustedRuns {
  /** Where each command of a run comes from. */
  originsOf(run: OneRun): readonly CommandOrigin[];
  /** The scripts behind a command of the config file that are not what they were when it was trusted. */
  changedScripts(change: string, key: CommandKey): readonly string[];
}

interface OneRun {
  readonly change: string;
  readonly options: Options;
  readonly plan: Pick<RunPlan, 'agents' | 'gate'>;
}

interface RunsRequest extends Omit<PlanRequest, 'change' | 'options'> {
  readonly changes: readonly string[];
  readonly optionsOf: (change: string) => Options;
  readonly config: Config;
  readonly find: (name: string) => Harness;
  readonly call: Call;
}

/** What these runs take from the project is trusted, or nothing is started. */
export const trustRuns = async (request: RunsRequest): Promise<TrustedRuns> => {
  const { project, config, changes, optionsOf, call } = request;
  const needed = await Promise.all(changes.map((change) => neededBy(request, change)));
  const { interactive, json } = optionsOf(changes[0]!);
  const trusted = await requireTrust({
    project,
    config,
    call,
    needed: new Set(needed.flat()),
    mayAsk: interactive && !json,
  });
  return {
    originsOf: (run) => originsOf(request, trusted, run),
    changedScripts: (change, key) => {
      if (request.asked.has(key)) return [];
      const now = withFiles(settingsOf(project, config), new Set([sourceFor(config, change, key)]));
      const isAsItWas = ({ source, hash }: Setting) =>
        trusted.some((setting) => setting.source === source && setting.hash === hash);
      return now.filter((setting) => !isAsItWas(setting)).map(({ source }) => source);
    },
  };
};

const neededBy = async (request: RunsRequest, change: string): Promise<string[]> => {
  const { config, changes, optionsOf, asked } = request;
  const options = optionsOf(change);
  // What is wrong with a run is said when it starts.
  const planned = await planRun({ ...request, change, options }).catch(() => null);
  const verify = planned?.plan.gate.verify ?? options.verify;
  const isApart =
    options.worktree ||
    (changes.length > 1 && options.parallel > 1) ||
    Boolean(planned?.previous?.view.place?.worktree);
  const uses: Readonly<Record<CommandKey, boolean>> = {
    harness: true,
    // A resumed run keeps its own commands, unless the file has others now.
    verify: JSON.stringify(verify) === JSON.stringify(options.verify),
    worktreeSetup: isApart,
    notify: true,
  };
  const agents = [...(planned?.plan.agents ?? []), ...agentsOf(options)];
  return [
    ...(Object.keys(uses) as CommandKey[])
      .filter((key) => uses[key] && !asked.has(key))
      .map((key) => sourceFor(config, change, key)),
    ...agents.map(({ harness }) => sourceOf(`harnesses.${harness}`)),
    ...(isApart ? [includeSource] : []),
  ];
};

/** What the file says of a change wins over what it says of all. */
export const sourceFor = ({ changes }: Config, change: string, key: CommandKey): string => {
  const prefix = prefixFor(changes, change);
  const isSpecial = prefix !== undefined && changes.get(prefix)!.values[key] !== undefined;
  return sourceOf(key, isSpecial ? prefix : undefined);
};

const originsOf = (request: RunsRequest, trusted: readonly Judged[], run: OneRun): CommandOrigin[] => {
  const { config, asked, call, find } = request;
  const { change, options, plan } = run;
  const fromFile = (source: string) => trusted.find((setting) => setting.source === source);
  const origin = (key: CommandKey, command: string): CommandOrigin => {
    const name: FlagName = key;
    if (asked.has(key))
      return {
        key,
        command,
        source: call.typed[key] === undefined ? envOf(name) : flagOf(name),
        hash: null,
        trusted: null,
      };
    const setting = fromFile(sourceFor(config, change, key));
    if (!setting?.commands.includes(command))
      return { key, command, source: 'the last run', hash: null, trusted: null };
    return { key, command, ...trustOf(setting) };
  };
  const ownAgents = plan.agents.flatMap(({ harness }) => {
    const { own } = find(harness);
    const setting = fromFile(sourceOf(`harnesses.${harness}`));
    return own && setting ? [{ key: 'harness' as const, command: setting.commands[0]!, ...trustOf(setting) }] : [];
  });
  return [
    ...ownAgents,
    ...plan.gate.verify.map((command) => origin('verify', command)),
    ...(options.worktreeSetup === null ? [] : [origin('worktreeSetup', options.worktreeSetup)]),
    ...(options.notify === null ? [] : [origin('notify', options.notify)]),
  ];
};

const trustOf = ({ source, hash, since }: Judged) => ({ source, hash, trusted: since ?? 'SPOOL_TRUST' });
