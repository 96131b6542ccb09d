import { type Flag, flagNames, flags, isNegated, isRepeatable } from '../../config/flags.ts';
import type { CommandOption, Positional } from './command.ts';

export const ralphOptions: readonly CommandOption[] = flagNames.map((name) => {
  const { help, heading, isEveryday, suggest, placeholder, aliases, ...flag }: Flag = flags[name];
  return {
    name,
    help,
    heading,
    ...(isEveryday === undefined ? {} : { isEveryday }),
    ...(suggest === undefined ? {} : { suggest }),
    ...(placeholder === undefined ? {} : { placeholder }),
    ...(aliases === undefined ? {} : { aliases }),
    ...(typeof flag.default === 'string' ? { default: flag.default } : {}),
    negated: isNegated(flags[name]),
    repeatable: isRepeatable(flags[name]),
  };
});

export const sandboxFlags = ['sandbox', 'sandboxAllow', 'sandboxWrite'];

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
