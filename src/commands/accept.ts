import { existsSync } from 'node:fs';
import { userError } from '../errors.ts';
import { isInsideIteration } from '../process/tree.ts';
import { resolveChange } from '../changes/changes.ts';
import { readConfig } from '../config/resolve.ts';
import { findProject, type Project } from '../store/project.ts';
import { acceptGoal, describeTampering, type Tampering } from '../guard/guard.ts';
import { namedIn } from '../trust/settings.ts';
import { acceptRepository } from '../run/repository.ts';
import { addTrust } from '../trust/store.ts';
import { acceptContext } from '../store/context.ts';
import { withSecrets, recordFolder } from '../store/record.ts';
import { readState } from '../store/state.ts';
import { pluralise, oneLine } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import type { Invocation } from './command.ts';

/** How many changes are listed. */
const shown = 20;

/** A loop that runs takes it over before it judges the next promise; otherwise the next one does. */
export const run = async ({ argument, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const change = await resolveChange(project, argument!);
  const view = await readState(project, change);
  if (isInsideIteration()) throw userError('in-iteration', 'accept');
  const root = view?.workspace && existsSync(view.workspace.root) ? view.workspace.root : project.root;
  const folder = recordFolder(project, change, env);
  const commands = view ? withSecrets(folder, view).gate.verify : [];
  const moved = await acceptGoal({ project: { root }, change, commands, folder });
  const context = acceptContext({ project, change, env });
  if (context) terminal.print('Accepted context.txt as it is.\n');
  const repository = await acceptRepository({ project, change, env });
  if (repository !== null) terminal.print(`Accepted the git repository ${visible(repository)}.\n`);
  if (moved.length === 0 && (context || repository !== null)) return 0;
  if (moved.length === 0) {
    terminal.print(`Nothing to accept: the goal of ${change} is unchanged.\n`);
    return 0;
  }
  await trustAccepted({ project, root, env }, moved);
  for (const each of moved.slice(0, shown)) terminal.print(`  ${oneLine(describeTampering(each))}\n`);
  if (moved.length > shown) terminal.print(`  and ${pluralise(moved.length - shown, 'more change')}\n`);
  terminal.print(`Accepted the current goal of ${change}.\n`);
  return 0;
};

interface Accepting {
  readonly project: Project;
  /** Where the agent works. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A script of the config file that a person accepts may run as it is, also when it lands. */
const trustAccepted = async ({ project, root, env }: Accepting, moved: readonly Tampering[]): Promise<void> => {
  const accepted = new Set(moved.flatMap((each) => (each.kind === 'task' ? [] : [`./${each.key}`])));
  const { files } = namedIn({ root }, await readConfig(project));
  const scripts = files.filter(({ source }) => accepted.has(source));
  if (scripts.length > 0) await addTrust(env, project, scripts);
};
