import { existsSync, fstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Invocation } from '../commands/command.ts';
import { userFolder } from '../files/home.ts';
import type { Outputs } from '../report/outputs.ts';
import { parse } from './parse.ts';
import { createTerminal, type Terminal } from '../report/terminal.ts';

export interface ProgramIo extends Pick<Invocation, 'cwd' | 'env'> {
  readonly outputs: Outputs;
}

/** Runs the command that was typed and resolves to the exit code. */
export const runCommandLine = async (argv: readonly string[], { cwd, env, outputs }: ProgramIo): Promise<number> => {
  const parsed = parse(argv);
  if (parsed.kind === 'help') {
    const { renderHelp } = await import('./help.ts');
    outputs.printResult(renderHelp(parsed.about, columnsOf(outputs)));
    return 0;
  }
  const { run } = await parsed.command.load();
  const terminal = createTerminal(env, outputs);
  await cleanUpSandboxes(env, terminal);
  return run({ cwd, env, ...parsed.given, terminal });
};

/** Cleans up after sandboxes that crashed, before git could use a repository planted in one. Imported only if there are any. */
const cleanUpSandboxes = async (env: NodeJS.ProcessEnv, terminal: Terminal): Promise<void> => {
  if (!existsSync(join(userFolder(env), 'sandbox'))) return;
  const { quarantineLeftovers } = await import('../sandbox/leftover.ts');
  for (const line of quarantineLeftovers(env)) terminal.log(`${line}\n`);
};

/** Creates the stdout stream only if it can be a terminal: that takes time. */
const columnsOf = (outputs: Outputs): number => {
  const maybeTerminal = fstatSync(1).isCharacterDevice();
  return (maybeTerminal && outputs.stdout.columns) || 80;
};
