import { existsSync } from 'node:fs';
import { userError } from '../errors.ts';
import { isInside } from '../process/tree.ts';
import { resolveChange } from '../changes/changes.ts';
import { findProject } from '../store/project.ts';
import { acceptGoal, describeMoved } from '../guard/guard.ts';
import { acceptContext } from '../store/context.ts';
import { asAskedFor, recordFolder } from '../store/record.ts';
import { readState } from '../store/state.ts';
import { count, oneLine } from '../text/format.ts';
import type { Call } from './command.ts';

/** How many changes are listed. */
const shown = 20;

/** A loop that runs takes it over before it judges the next promise; otherwise the next one does. */
export const run = async ({ argument, cwd, env, terminal }: Call): Promise<number> => {
  const project = findProject(cwd);
  const change = await resolveChange(project, argument!);
  const view = await readState(project, change);
  if (isInside()) throw userError('in-iteration', 'accept');
  const root = view?.place && existsSync(view.place.root) ? view.place.root : project.root;
  const folder = recordFolder(project, change, env);
  const commands = view ? asAskedFor(folder, view).gate.verify : [];
  const moved = await acceptGoal({ project: { root }, change, commands, folder });
  const context = acceptContext({ project, change, env });
  if (context) terminal.out('Accepted context.txt as it is.\n');
  if (moved.length === 0 && context) return 0;
  if (moved.length === 0) {
    terminal.out(`Nothing to accept: the goal of ${change} is unchanged.\n`);
    return 0;
  }
  for (const each of moved.slice(0, shown)) terminal.out(`  ${oneLine(describeMoved(each))}\n`);
  if (moved.length > shown) terminal.out(`  and ${count(moved.length - shown, 'more change')}\n`);
  terminal.out(`Accepted the current goal of ${change}.\n`);
  return 0;
};
