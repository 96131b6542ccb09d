import type { Invocation } from '../commands/registry/command.ts';
import { mayBeTerminal, type Outputs } from '../report/outputs.ts';
import { parse } from './parse.ts';
import { say } from '../report/message.ts';
import { createTerminal } from '../report/terminal.ts';
import { cleanUpSandboxes } from '../sandbox/clean-up.ts';

export interface ProgramIo extends Pick<Invocation, 'cwd' | 'env'> {
  readonly outputs: Outputs;
}

/** Runs the command that was typed and resolves to the exit code. */
export const runCommandLine = async (argv: readonly string[], { cwd, env, outputs }: ProgramIo): Promise<number> => {
  if (argv[0] === '__complete') {
    const { answerShell } = await import('./answer-shell.ts');
    outputs.printResult(await answerShell(argv.slice(1), { cwd, env }));
    return 0;
  }
  const parsed = parse(argv);
  if (parsed.kind === 'help') {
    const { renderHelp } = await import('./help.ts');
    outputs.printResult(renderHelp(parsed, columnsOf(outputs)));
    return 0;
  }
  const { run } = await parsed.command.load();
  const terminal = createTerminal(env, outputs);
  for (const line of await cleanUpSandboxes(env)) say(terminal, line);
  return run({ cwd, env, ...parsed.given, terminal });
};

/** Creates the stdout stream only if it can be a terminal: that takes time. */
const columnsOf = (outputs: Outputs): number => (mayBeTerminal(1) && outputs.stdout.columns) || 80;
