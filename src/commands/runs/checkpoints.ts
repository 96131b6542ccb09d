import { resolveAnyChange, resolveChange } from '../../changes/sources.ts';
import { findCheckpoints, type RunCheckpoints } from '../../store/saved-checkpoints.ts';
import { findProject } from '../../store/project.ts';
import { say } from '../../report/message.ts';
import type { Invocation } from '../registry/command.ts';

/** The checkpoints of the run given by --run, or of the last run of the change. `archived`: it need not be active. */
export const checkpointsFor = async (
  { args, rawFlags, cwd, env, terminal }: Invocation,
  { archived = false } = {},
): Promise<RunCheckpoints> => {
  const project = findProject(cwd);
  return findCheckpoints({
    project,
    change: await (archived ? resolveAnyChange : resolveChange)(project, args[0]!),
    wanted: rawFlags.run as string | undefined,
    env,
    say: (line) => say(terminal, line),
  });
};
