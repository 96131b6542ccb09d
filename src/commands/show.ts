import { userError } from '../errors.ts';
import {
  archivedChange,
  changeOf,
  changesOfModule,
  isChangeId,
  listArchived,
  listChanges,
  resolveChange,
} from '../changes/sources.ts';
import { textInside } from '../files/inside.ts';
import { findProject, type Project } from '../store/project.ts';
import { matchId } from '../changes/ids.ts';
import { listModules, moduleFile, moduleIdOf } from '../changes/modules.ts';
import { say } from '../report/message.ts';
import { type ChangeRow, overview } from '../report/read-change-rows.ts';
import { tasksOf } from '../changes/tasks/current.ts';
import { readTasks } from '../changes/tasks/read.ts';
import { countTasks, type Task } from '../changes/tasks/task.ts';
import { describeLastRun } from '../report/last-run-text.ts';
import { safeJson } from '../text/controls.ts';
import type { Invocation } from './registry/command.ts';

export const run = async ({ args, rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const found = await find(project, args[0]!);
  const page =
    found.kind === 'module' ? await readModule(project, found.id) : await readChange(project, found, { env, terminal });
  if (rawFlags.json) terminal.printResult(`${safeJson(page, 2)}\n`);
  else terminal.print(`${(page.kind === 'change' ? changeLines(page) : moduleLines(page)).join('\n')}\n`);
  return 0;
};

interface Found {
  readonly kind: 'change' | 'module';
  readonly id: string;
  readonly archived: boolean;
}

/**
 * `002` is the module, although it is also a prefix of all its changes. An archived change is found if nothing else is.
 */
const find = async (project: Project, query: string): Promise<Found> => {
  const modules = listModules(project);
  const module = modules.find((name) => name === query || moduleIdOf(name) === query);
  if (module) return { kind: 'module', id: module, archived: false };
  const changes = await listChanges(project);
  const match = matchId(query, [...changes, ...modules]);
  switch (match.kind) {
    case 'one':
      return { kind: changes.includes(match.id) ? 'change' : 'module', id: match.id, archived: false };
    case 'several':
      throw userError('ambiguous-id', query, match.ids);
    case 'none':
      if (await isChangeId(project, query))
        return { kind: 'change', id: await resolveChange(project, query), archived: false };
      return findArchived(project, query, match.near);
  }
};

const findArchived = async (project: Project, query: string, near: string | null): Promise<Found> => {
  const match = matchId(query, [...new Set(await listArchived(project))]);
  if (match.kind === 'one') return { kind: 'change', id: match.id, archived: true };
  throw match.kind === 'several' ? userError('ambiguous-id', query, match.ids) : userError('unknown-id', query, near);
};

/** What is shown of a change. */
interface ChangePage extends Pick<ChangeRow, 'id' | 'source' | 'module' | 'lastRun' | 'queued'> {
  readonly kind: 'change';
  readonly archived: boolean;
  readonly folder: string;
  readonly proposalFile: string;
  readonly tasks: readonly Task[];
  readonly proposal: string | null;
}

const readChange = async (
  project: Project,
  { id, archived }: Found,
  { env, terminal }: Pick<Invocation, 'env' | 'terminal'>,
): Promise<ChangePage> => {
  const old = archived ? await archivedChange(project, id) : null;
  const change = old ?? (await changeOf(project, id));
  const { folder, proposalFile } = change;
  const { source, module, lastRun, queued, damage } = await overview(project, change, { env, isArchived: archived });
  if (damage !== null) say(terminal, damage);
  const tasks = (old ? readTasks(old, project.root) : await tasksOf(project, change)) ?? [];
  const proposal = textInside(project.root, proposalFile)?.trim() ?? null;
  return { kind: 'change', id, archived, source, module, folder, proposalFile, lastRun, queued, tasks, proposal };
};

const changeLines = (page: ChangePage) => {
  const { id, archived, source, module, folder, proposalFile, lastRun, queued, tasks, proposal } = page;
  const { done, total } = countTasks(tasks);
  const isFile = folder === proposalFile;
  return [
    `Change    ${id}${archived ? ' (archived)' : ''}`,
    ...(source === 'spool' || isFile ? [] : [`Source    ${source}`]),
    ...(module === null && source !== 'spool' ? [] : [`Module    ${module ?? 'none'}`]),
    `${isFile ? 'File  ' : 'Folder'}    ${folder}`,
    `Last run  ${describeLastRun(lastRun)}${queued ? `; queued by PID ${queued.pid}` : ''}`,
    `Tasks     ${done} of ${total} done`,
    ...tasks.map((task) => `  [${task.done ? 'x' : ' '}] ${task.title}${task.optional ? ' (optional)' : ''}`),
    '',
    proposal ?? `No proposal yet: write ${proposalFile}.`,
  ];
};

/** What is shown of a module. */
interface ModulePage {
  readonly kind: 'module';
  readonly id: string;
  /** Active ones. */
  readonly changes: readonly string[];
  readonly file: string;
  readonly description: string | null;
}

const readModule = async (project: Project, name: string): Promise<ModulePage> => {
  const id = moduleIdOf(name)!;
  const file = moduleFile(project.root, id)!;
  return {
    kind: 'module',
    id: name,
    changes: await changesOfModule(project, id),
    file,
    description: textInside(project.root, file)?.trim() ?? null,
  };
};

const moduleLines = ({ id, changes, file, description }: ModulePage): string[] => [
  `Module    ${id}`,
  `Changes   ${changes.length === 0 ? 'none active' : ''}`.trimEnd(),
  ...changes.map((change) => `  ${change}`),
  '',
  description ?? `No description yet: write ${file}.`,
];
