import { join } from 'node:path';
import { userError } from '../errors.ts';
import { changeOf, changesOfModule, listChanges } from '../changes/sources.ts';
import { readIfThere } from '../files/read.ts';
import { findProject, type Project } from '../store/project.ts';
import { matchId } from '../changes/ids.ts';
import { listModules, moduleFile, moduleIdOf } from '../changes/modules.ts';
import { overview } from '../report/overview.ts';
import { tasksOf } from '../changes/current-tasks.ts';
import { countTasks } from '../changes/tasks.ts';
import { describeLastRun } from '../report/status.ts';
import type { Invocation } from './command.ts';

export const run = async ({ args, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const found = await find(project, args[0]!);
  const lines =
    found.kind === 'change'
      ? await describeChange(project, found.id, { env, terminal })
      : await describeModule(project, found.id);
  terminal.print(`${lines.join('\n')}\n`);
  return 0;
};

/** `002` is the module, although it is also a prefix of all its changes. */
const find = async (project: Project, query: string): Promise<{ kind: 'change' | 'module'; id: string }> => {
  const modules = listModules(project);
  const module = modules.find((name) => name === query || moduleIdOf(name) === query);
  if (module) return { kind: 'module', id: module };
  const changes = await listChanges(project);
  const match = matchId(query, [...changes, ...modules]);
  switch (match.kind) {
    case 'one':
      return { kind: changes.includes(match.id) ? 'change' : 'module', id: match.id };
    case 'several':
      throw userError('ambiguous-id', query, match.ids);
    case 'none':
      throw userError('unknown-id', query, match.near);
  }
};

const describeChange = async (
  project: Project,
  id: string,
  { env, terminal }: Pick<Invocation, 'env' | 'terminal'>,
): Promise<string[]> => {
  const { folder, proposalFile } = changeOf(project, id);
  const { module, lastRun, damage } = await overview(project, id, env);
  if (damage !== null) terminal.log(`${damage}\n`);
  const tasks = (await tasksOf(project, id)) ?? [];
  const { done, total } = countTasks(tasks);
  const proposal = await readIfThere(join(project.root, proposalFile));
  return [
    `Change    ${id}`,
    `Module    ${module ?? 'none'}`,
    `Folder    ${folder}`,
    `Last run  ${describeLastRun(lastRun)}`,
    `Tasks     ${done} of ${total} done`,
    ...tasks.map((task) => `  [${task.done ? 'x' : ' '}] ${task.title}${task.optional ? ' (optional)' : ''}`),
    '',
    proposal?.trim() ?? `No proposal yet: write ${proposalFile}.`,
  ];
};

const describeModule = async (project: Project, name: string): Promise<string[]> => {
  const id = moduleIdOf(name)!;
  const changes = await changesOfModule(project, id);
  const file = moduleFile(project.root, id)!;
  const text = await readIfThere(join(project.root, file));
  return [
    `Module    ${name}`,
    `Changes   ${changes.length === 0 ? 'none active' : ''}`.trimEnd(),
    ...changes.map((change) => `  ${change}`),
    '',
    text?.trim() ?? `No description yet: write ${file}.`,
  ];
};
