import { resolveChange } from '../changes/changes.ts';
import { findKept, type Kept } from '../run/checkpoints.ts';
import { findProject } from '../store/project.ts';
import type { Call } from './command.ts';

/** The checkpoints that a command is about: those of --run, or of the last run of the change. */
export const keptOf = async ({ argument, typed, cwd, env, terminal }: Call): Promise<Kept> => {
  const project = findProject(cwd);
  return findKept({
    project,
    change: await resolveChange(project, argument!),
    wanted: typed.run as string | undefined,
    env,
    say: (line) => terminal.say(`${line}\n`),
  });
};
