import { join } from 'node:path';
import { filesInside, foldersInside, isPresentInside, textInside } from '../../files/inside.ts';
import { folderChange, sectionIn } from '../folder-change.ts';
import { parseTasks } from '../tasks/parse.ts';
import { countTasks } from '../tasks/task.ts';
import type { Change, ChangeFile, ChangeSource, PromptSection } from '../source.ts';

/** `specs/<NNN-name>/` with spec.md, plan.md and tasks.md, beside `.specify/`, as spec-kit creates them. */
export const specKitSource = (base: string): ChangeSource => ({
  name: 'spec-kit',
  folder: base,
  list: (root) => foldersInside(root, base).filter((name) => isPresentInside(root, join(base, name, 'spec.md'))),
  // Finished specs stay where they are.
  listArchived: () => [],
  archived: () => null,
  change: (_root, id) => createChange(id, join(base, id)),
});

const constitution = join('.specify', 'memory', 'constitution.md');

const createChange = (id: string, folder: string): Change =>
  folderChange({
    id,
    source: 'spec-kit',
    folder,
    proposal: 'spec.md',
    tasks: 'tasks.md',
    planningFolders: [folder, '.specify', '.spool'],
    kindOf,
    closed: ['plan.md', 'data-model.md', 'research.md', 'quickstart.md'],
    hasClosedSpecs: true,
    shared: () => [{ kind: 'context', path: constitution, name: 'constitution.md' }],
    sharedPaths: () => ['.specify'],
    sections: (root) => sectionsOf(root, folder),
    warnings: (root) => warningsOf(root, folder),
  });

const kindOf = (name: string): ChangeFile['kind'] => {
  if (name.startsWith('checklists/')) return 'checklist';
  if (name.startsWith('contracts/')) return 'spec';
  return name.endsWith('.md') ? 'design' : 'other';
};

const sectionsOf = (root: string, folder: string): PromptSection[] => {
  const own = (title: string, name: string) => sectionIn(folder, title, name);
  return [
    own('Plan', 'plan.md'),
    own('Data Model', 'data-model.md'),
    ...filesInside(root, join(folder, 'contracts')).map((name) => own('Contract', `contracts/${name}`)),
    own('Research', 'research.md'),
    own('Quickstart', 'quickstart.md'),
    own('Tasks', 'tasks.md'),
    { title: 'Constitution of the Project', path: constitution },
  ];
};

const warningsOf = (root: string, folder: string): string[] => {
  const checklists = filesInside(root, join(folder, 'checklists')).filter((name) => name.endsWith('.md'));
  const open = checklists.flatMap((name) => {
    const path = join(folder, 'checklists', name);
    const { done, total } = countTasks(parseTasks(textInside(root, path) ?? ''));
    return done < total
      ? [`${path} has ${total - done} of ${total} items open. Reviewers tick them, not the agent.`]
      : [];
  });
  const unclear = ['spec.md', 'plan.md', 'tasks.md'].flatMap((name) => {
    const path = join(folder, name);
    const line = lineOf(textInside(root, path) ?? '', '[NEEDS CLARIFICATION');
    return line === null ? [] : [`${path}:${line} needs clarification. The agent will decide it by itself.`];
  });
  return [...unclear, ...open];
};

const lineOf = (text: string, part: string): number | null => {
  const at = text.indexOf(part);
  return at === -1 ? null : text.slice(0, at).split('\n').length;
};
