import { basename } from 'node:path';
import type { Scenario } from '../../ralph/proof.ts';
import { pathIn } from '../file/recorded.ts';
import { fileCriteria } from '../file/criteria.ts';
import { kiroCriteria } from '../kiro/criteria.ts';
import type { Change } from '../source.ts';
import { readSpec } from '../spec-files.ts';
import { specKitCriteria } from '../spec-kit/criteria.ts';
import type { Criterion } from './criterion.ts';
import { scenariosInSpec } from './in-specs.ts';
import { nameKey, type VerifiedTask, verifiedTasks } from './task-commands.ts';
import { textHash } from './text-hash.ts';
import { uniqueIds } from './unique-ids.ts';

/** The acceptance criteria of a change, in the order of its files. Throws if a file is not UTF-8, or a link. */
export const scenariosOf = (change: Change, root: string): Scenario[] => {
  const criteria = criteriaOf(change, root);
  const tasks = criteria.length === 0 ? [] : verifiedTasks(readSpec(root, change.tasksFile) ?? '');
  return toScenarios(criteria, tasks);
};

/** Gives criteria their ids, and the commands of the tasks that name them. */
export const toScenarios = (criteria: readonly Criterion[], tasks: readonly VerifiedTask[]): Scenario[] => {
  const byName = new Map<string, string[]>();
  for (const { names, commands } of tasks)
    for (const name of names) {
      if (!byName.has(name)) byName.set(name, []);
      byName.get(name)!.push(...commands);
    }
  const ids = uniqueIds(criteria);
  return criteria.map(({ title, requirement, text, path, line, verify, names }, index) => {
    const id = ids[index]!;
    const ofTasks = [id, ...names].flatMap((name) => byName.get(nameKey(name)) ?? []);
    return { id, title, requirement, hash: textHash(text), path, line, verify: [...new Set([...verify, ...ofTasks])] };
  });
};

const criteriaOf = (change: Change, root: string): Criterion[] => {
  const { source, folder, proposalFile, specs } = change;
  const isFile = pathIn(source) !== null;
  if (specs !== undefined && !isFile) return specCriteria(change, root);
  const path = posix(proposalFile);
  const text = readSpec(root, proposalFile) ?? '';
  if (isFile) return fileCriteria(text, path);
  const of = { name: basename(folder), path };
  return source === 'kiro' ? kiroCriteria(text, of) : source === 'spec-kit' ? specKitCriteria(text, of) : [];
};

/** The scenarios in the specs of a change, whether or not a file is where a merge would read it. */
const specCriteria = (change: Change, root: string): Criterion[] =>
  change
    .documents(root)
    .filter(({ kind, name }) => kind === 'spec' && name.endsWith('.md') && !/(?:^|\/)\./.test(name))
    .flatMap(({ path, name }) => {
      const capability = name.replace(/(?:\/spec)?\.md$/, '');
      return scenariosInSpec({ capability, path: posix(path), text: readSpec(root, path) ?? '' });
    });

const posix = (path: string) => path.replaceAll('\\', '/');
