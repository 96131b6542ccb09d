import { textInside } from '../files/inside.ts';
import { attempt, problemText } from './problems.ts';
import type { Change } from './source.ts';
import type { ListedChange } from './sources.ts';
import { type ChangeSpecs, mainSpecFiles, readSpec, readSpecs } from './spec-files.ts';
import { checkMainSpec } from './specs/check-main.ts';
import { readLines } from './specs/lines.ts';
import { parseMainSpec } from './specs/main-spec.ts';
import { byPlace, checkDelta, type Issue } from './specs/validate.ts';
import { parseTasks } from './tasks/parse.ts';

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
  const about = (line: number | null, message: string): Issue => ({
    level: 'error',
    file: paths.settings.replaceAll('\\', '/'),
    line,
    message,
  });
  return [
    ...settings.invalid.map(({ line, message }) => about(line, message)),
    ...(settings.skip && hasFiles
      ? [about(null, 'It sets skip_specs, but the change has specs. Remove one of them.')]
      : []),
    ...issues,
    ...deltas.flatMap((delta) => checkDelta(delta, { change: id, retire: settings.retire })),
  ].toSorted(byPlace);
};

const absentSpecs = ({ specs: paths }: Change, { settings, deltas, issues }: ChangeSpecs): Issue[] => {
  if (paths === undefined || !paths.isRequired || settings.skip || deltas.length + issues.length > 0) return [];
  const message = `It has no specs. Add <capability>/spec.md, or set "skip_specs: true" in ${paths.settings}.`;
  return [{ level: 'error', file: paths.delta.replaceAll('\\', '/'), line: null, message }];
};

const taskIssues = ({ tasksFile }: Change, root: string): Issue[] => {
  const text = textInside(root, tasksFile) ?? '';
  const item = readLines(text).find((line) => !line.isCode && /^\s*[-*+]\s+\S/.test(line.text));
  if (item === undefined || parseTasks(text).length > 0) return [];
  const message = 'No item of this list has a box, so none is a task. Write tasks as "- [ ] …".';
  return [{ level: 'warning', file: tasksFile.replaceAll('\\', '/'), line: item.number, message }];
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
