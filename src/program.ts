import { fstatSync } from 'node:fs';
import type { Call } from './commands/command.ts';
import type { Outputs } from './outputs.ts';
import { parse } from './parse.ts';
import { createTerminal } from './report/terminal.ts';

export interface Surroundings extends Pick<Call, 'cwd' | 'env'> {
  readonly outputs: Outputs;
}

/** Finds the command that was typed and runs it; answers with the exit code. */
export const runCommandLine = async (argv: readonly string[], { cwd, env, outputs }: Surroundings): Promise<number> => {
  const parsed = parse(argv);
  if (parsed.kind === 'help') {
    const { renderHelp } = await import('./help.ts');
    outputs.answer(renderHelp(parsed.about, columnsOf(outputs)));
    return 0;
  }
  const { run } = await parsed.command.load();
  return run({ cwd, env, ...parsed.given, terminal: createTerminal(env, outputs) });
};

/** Asked of the stream only where it can be a screen: making one takes time. */
const columnsOf = (outputs: Outputs): number => {
  const maybeScreen = fstatSync(1).isCharacterDevice();
  return (maybeScreen && outputs.stdout.columns) || 80;
};
