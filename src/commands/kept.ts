import { resolveChange } from '../changes/sources.ts';
import { findCheckpoints, type RunCheckpoints } from '../run/checkpoints.ts';
import { findProject } from '../store/project.ts';
import type { Invocation } from './command.ts';

/** The checkpoints that a command is about: those of --run, or of the last run of the change. */
export const keptOf = async ({ argument, rawFlags, cwd, env, terminal }: Invocation): Promise<RunCheckpoints> => {
  const project = findProject(cwd);
  return findCheckpoints({
    project,
    change: await resolveChange(project, argument!),
    wanted: rawFlags.run as string | undefined,
    env,
    say: (line) => terminal.log(`${line}\n`),
  });
};
