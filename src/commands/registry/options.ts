import { type Flag, type FlagName, flagNames, flags, isNegated, isRepeatable } from '../../config/flags.ts';
import type { CommandOption, Positional } from './command.ts';

/** An option of `spool ralph`, as other commands have it too. */
export const ralphOption = (name: FlagName): CommandOption => {
  const { default: value, ...flag }: Flag = flags[name];
  const option = { ...flag, name, negated: isNegated(flags[name]), repeatable: isRepeatable(flags[name]) };
  return typeof value === 'string' ? { ...option, default: value } : option;
};

export const ralphOptions: readonly CommandOption[] = flagNames.map(ralphOption);

export const sandboxFlags = ['sandbox', 'sandboxAllow', 'sandboxWrite'] as const satisfies readonly FlagName[];

export const json: CommandOption = { name: 'json', help: 'Output JSON' };
export const yes: CommandOption = { name: 'yes', help: 'Skip the confirmation' };
export const run: CommandOption = { name: 'run', placeholder: 'id', help: 'Run to use (default: latest)' };
export const onlyChange: CommandOption = {
  name: 'change',
  placeholder: 'id',
  help: 'Only for this change',
  suggest: 'changes',
};

export const queue: CommandOption = {
  name: 'queue',
  placeholder: 'url',
  help: 'Postgres database of the queue (default: SPOOL_QUEUE), such as postgres://user@host/spool',
};

export const change: Positional = { name: 'change', help: 'Change ID or unique prefix', suggest: 'changes' };
export const runOf: Positional = {
  name: 'change',
  help: 'Change ID or unique prefix',
  optional: true,
  suggest: 'changes',
};
export const key: Positional = {
  name: 'key',
  help: 'Such as maxCost, verify, worktree.setup, env.pass, permissions.deny or harnesses.<name>',
  suggest: 'keys',
};
