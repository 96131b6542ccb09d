import { textInside } from '../files/inside.ts';
import { attempt, problemText } from './problems.ts';
import type { Change } from './source.ts';
import type { ListedChange } from './sources.ts';
import { type ChangeSpecs, mainSpecFiles, readSpec, readSpecs } from './spec-files.ts';
import { checkMainSpec, type SpecIssue } from './specs/check-main.ts';
import { levelOf } from './specs/headings.ts';
import { type Line, readLines } from './specs/lines.ts';
import { parseMainSpec } from './specs/main-spec.ts';
import { byPlace, checkDelta, type Issue } from './specs/validate.ts';

export type { Issue } from './specs/validate.ts';

/** Everything that is wrong with a change, by file and line. */
export const validateChange = (change: Change, root: string): Issue[] => {
  const specs = readSpecs(change, root);
  return [...specIssues(change, specs), ...absentSpecs(change, specs), ...taskIssues(change, root)].toSorted(byPlace);
};

/** What is wrong with the specs of a change, as far as it has any. */
export const specIssues = ({ id, specs: paths }: Change, specs: ChangeSpecs): Issue[] => {
  if (paths === undefined) return [];
  const { settings, deltas, issues, hasFiles } = specs;
  const both = 'It sets skip_specs, but the change has specs. Remove one of them.';
  const ofSettings: SpecIssue[] = [
    ...settings.problems,
    ...(settings.skip && hasFiles ? [{ level: 'error' as const, line: null, message: both }] : []),
  ];
  return [
    ...ofSettings.map((issue) => ({ file: paths.settings.replaceAll('\\', '/'), ...issue })),
    ...issues,
    ...deltas.flatMap((delta) => checkDelta(delta, { change: id, retire: settings.retire })),
  ].toSorted(byPlace);
};

const absentSpecs = ({ specs: paths }: Change, { settings, deltas, issues }: ChangeSpecs): Issue[] => {
  if (paths === undefined || !paths.isRequired || settings.skip || deltas.length + issues.length > 0) return [];
  const message = `It has no specs. Add <capability>/spec.md, or set "skip_specs: true" in ${paths.settings}.`;
  return [{ level: 'error', file: paths.delta.replaceAll('\\', '/'), line: null, message }];
};

const taskIssues = ({ tasksFile, format, specs }: Change, root: string): Issue[] => {
  const text = textInside(root, tasksFile);
  const tasks = text === null ? [] : format.tasks(text);
  if (text === null || !format.hasBoxes) return [];
  const lines = readLines(text).filter(({ isCode }) => !isCode);
  const item = lines.find((line) => /^\s*[-*+]\s+\S/.test(line.text));
  const about = (line: number, message: string): Issue => ({
    level: 'warning',
    file: tasksFile.replaceAll('\\', '/'),
    line,
    message,
  });
  if (item === undefined) return [];
  if (tasks.length === 0)
    return [about(item.number, 'No item of this list has a box, so none is a task. Write tasks as "- [ ] …".')];
  return specs === undefined ? [] : numberIssues(lines).map(({ line, message }) => about(line, message));
};

/** In groups such as `## 2. Login`, the number of a task begins with that of its group, and no other task has it. */
const numberIssues = (lines: readonly Line[]): { readonly line: number; readonly message: string }[] => {
  const first = new Map<string, number>();
  let group: string | null = null;
  return lines.flatMap(({ text, number: line }) => {
    if (levelOf({ text, isCode: false }) === 2) group = /^##\s+(\d+)\.(?:\s|$)/.exec(text)?.[1] ?? null;
    const id = /^\s*(?:[-*+]|\d{1,9}[.)])\s*\[[^\]]?\]\s*(\d+(?:\.\d+)+[A-Za-z]*)(?=\s|$)/.exec(text)?.[1];
    if (group === null || id === undefined) return [];
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, line);
    const own = id.split('.')[0]!;
    return [
      ...(Number(own) === Number(group)
        ? []
        : [{ line, message: `Task ${id} is in group ${group}. Move it to group ${own}, or give it another number.` }]),
      ...(earlier === undefined
        ? []
        : [{ line, message: `There is a task ${id} on line ${earlier} already. Give one of them another number.` }]),
    ];
  });
};

/** What is wrong with the main specs in some folders. A file or folder that cannot be read is an error among the others. */
export const validateMainSpecs = (folders: readonly string[], root: string): Issue[] =>
  folders
    .flatMap((folder) => {
      const files = orIssue(folder, root, () => mainSpecFiles(root, folder));
      return files.flatMap((file) => (typeof file === 'string' ? mainSpecIssues(file, root) : [file]));
    })
    .toSorted(byPlace);

const mainSpecIssues = (file: string, root: string): Issue[] =>
  orIssue(file, root, () =>
    checkMainSpec(parseMainSpec(readSpec(root, file) ?? '')).map((issue) => ({ file, ...issue })),
  );

/** What is wrong with a change of a list. If it cannot be read, that is the only issue. */
export const validateListed = ({ folder, change, problem }: ListedChange, root: string): Issue[] =>
  change === null ? [unreadable(folder, problem)] : orIssue(folder, root, () => validateChange(change, root));

const orIssue = <Found>(file: string, root: string, read: () => Found[]): (Found | Issue)[] => {
  const found = attempt(read);
  return found instanceof Error ? [unreadable(file, problemText({ root }, found))] : found;
};

const unreadable = (file: string, message: string): Issue => ({
  level: 'error',
  file: file.replaceAll('\\', '/'),
  line: null,
  message,
});
