import { finishCommands } from './finish.ts';
import { clusterCommands } from './cluster.ts';
import { inspectCommands } from './inspect.ts';
import { runCommands } from './run.ts';
import { setUpCommands } from './set-up.ts';
import { steerCommands } from './steer.ts';
import { type Command, type CommandHeading, commandHeadings, type CommandRow } from './command.ts';

/** Summaries of the commands that have subcommands. */
export const groups: Readonly<Record<string, string>> = {
  create: 'Create a module or a change',
  queue: 'Hand changes to workers on other machines',
  config: 'Show and change the settings of the project',
};

const rows: Readonly<Record<CommandHeading, readonly CommandRow[]>> = {
  Run: runCommands,
  Inspect: inspectCommands,
  Steer: steerCommands,
  Finish: finishCommands,
  'Many machines': clusterCommands,
  'Set up': setUpCommands,
};

/** All commands, in the order of the help. */
export const commands: readonly Command[] = commandHeadings.flatMap((heading) =>
  rows[heading].map((row) => ({ ...row, heading })),
);
