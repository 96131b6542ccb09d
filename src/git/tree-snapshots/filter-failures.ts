import { removeSafely } from '../../files/safe.ts';
import { addAll } from './add.ts';
import { git } from '../call/git.ts';
import { fileAt, toUtf8 } from '../paths.ts';
import { filterIn, isAboutLineEndings, readWarnings, type RefusedFile } from './refusals.ts';
import { copyIndex, type WorkTree } from '../work-tree.ts';

/** A filter that fails for this many files is assumed to fail for all. */
const failureThreshold = 3;

export interface FilterFailures {
  /**
   * git stops at the first file that it refuses. Returns the other new or changed files that it would refuse for the
   * same reason.
   */
  find(refused: readonly RefusedFile[], without: readonly string[]): Promise<RefusedFile[]>;
}

export const createFilterFailures = (tree: WorkTree): FilterFailures => {
  const failures = new Map<string, number>();
  return {
    async find(refused, without) {
      const found: RefusedFile[][] = [];
      for (const filter of refused.map(({ why }) => filterIn(why)).filter((name) => name !== null)) {
        failures.set(filter, (failures.get(filter) ?? 0) + 1);
        if (failures.get(filter) === failureThreshold) found.push(await withFilter(tree, filter));
      }
      if (refused.some(({ why }) => isAboutLineEndings(why))) found.push(await withLineEndings(tree, without));
      return found.flat();
    },
  };
};

const withFilter = async ({ root, tempIndex }: WorkTree, filter: string): Promise<RefusedFile[]> => {
  const call = { cwd: root, env: { GIT_INDEX_FILE: tempIndex } };
  const lists = [
    await git(['ls-files', '-z', '--others', '--exclude-standard'], call),
    await git(['diff-files', '-z', '--name-only', '--diff-filter=d'], call),
  ];
  const input = lists.map(({ stdout }) => stdout).join('');
  const { stdout } = await git(['check-attr', '-z', '--stdin', 'filter'], { ...call, input });
  // Repeats path, name of the attribute, value.
  const fields = stdout.split('\0');
  const names = fields.filter((_, at) => at % 3 === 0 && fields[at + 2] === filter);
  return names.map((name) => ({ name, why: `${toUtf8(name)}: clean filter '${filter}' failed` }));
};

/** git warns only about files that it adds, so they are added to a copy of the index. */
const withLineEndings = async (tree: WorkTree, without: readonly string[]): Promise<RefusedFile[]> => {
  const copy = { ...tree, tempIndex: `${tree.tempIndex}.endings` };
  await copyIndex(tree.tempIndex, copy.tempIndex);
  const { stderr } = await addAll(copy, { without, config: ['core.safecrlf=warn'] });
  removeSafely(copy.tempIndex);
  return readWarnings(stderr, (name) => fileAt(tree.root, name) === name);
};
