import { join } from 'node:path';
import { filesInside, foldersInside, isPresentInside, textInside } from '../../files/inside.ts';
import { parseJson } from '../../text/shape.ts';
import { parseYaml, splitFrontMatter } from '../../text/yaml.ts';
import { folderChange, sectionIn } from '../folder-change.ts';
import type { Change, ChangeDocument, ChangeSource, PromptSection } from '../source.ts';

/** `.kiro/specs/<name>/` with requirements.md (or bugfix.md), design.md and tasks.md, as Kiro creates them. */
export const kiroSource = (base: string): ChangeSource => {
  const specs = join(base, 'specs');
  const proposalIn = (root: string, id: string) =>
    ['requirements.md', 'bugfix.md'].find((name) => isPresentInside(root, join(specs, id, name)));
  return {
    name: 'kiro',
    folder: specs,
    list: (root) => foldersInside(root, specs).filter((name) => proposalIn(root, name) !== undefined),
    // Finished specs stay where they are.
    listArchived: () => [],
    archived: () => null,
    change: (root, id) => createChange(id, { base, proposal: proposalIn(root, id) ?? 'requirements.md' }),
  };
};

const createChange = (id: string, { base, proposal }: { base: string; proposal: string }): Change => {
  const folder = join(base, 'specs', id);
  return folderChange({
    id,
    source: 'kiro',
    folder,
    proposal,
    tasks: 'tasks.md',
    planningFolders: [base, '.spool'],
    kindOf: (name) => (name.endsWith('.md') || name === 'spec.json' ? 'design' : 'other'),
    closed: ['design.md', 'research.md', 'spec.json'],
    shared: (root) => steeringOf(root, base),
    sharedPaths: (root) => steeringOf(root, base).map(({ path }) => path),
    sections: (root) => sectionsOf(root, { base, folder }),
    warnings: (root) => warningsOf(root, folder),
  });
};

const sectionsOf = (root: string, { base, folder }: { base: string; folder: string }): PromptSection[] => {
  const own = (title: string, name: string) => sectionIn(folder, title, name);
  return [
    own('Design', 'design.md'),
    own('Research', 'research.md'),
    own('Tasks', 'tasks.md'),
    ...steeringOf(root, base).map(({ path }) => ({ title: `Steering (${path})`, path, excerpt: alwaysIncluded })),
  ];
};

const steeringOf = (root: string, base: string): ChangeDocument[] =>
  filesInside(root, join(base, 'steering'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({ kind: 'context', path: join(base, 'steering', name), name: `steering/${name}` }));

/** A steering file can say in its front matter that it is only for some files, or only on request. */
const alwaysIncluded = (text: string): string | null => {
  const { front, body } = splitFrontMatter(text);
  const inclusion = front === null ? undefined : parseYaml(front)?.inclusion;
  return inclusion === undefined || inclusion === 'always' ? body : null;
};

/** cc-sdd records in spec.json what a person has approved. */
const warningsOf = (root: string, folder: string): string[] => {
  const path = join(folder, 'spec.json');
  const settings = parseJson(textInside(root, path) ?? '') as
    { approvals?: Record<string, { approved?: unknown }> } | undefined;
  const approvals = Object.entries(settings?.approvals ?? {});
  const open = approvals.filter(([, state]) => state?.approved === false).map(([name]) => name);
  return open.length === 0 ? [] : [`${path}: ${open.join(', ')} not approved yet.`];
};
