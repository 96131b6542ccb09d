import { changesBetween, type Difference, namesOf, summarise } from '../../git/changes.ts';
import { type Checkpoints, openCheckpoints } from '../../git/checkpoint.ts';
import { commitFiles } from '../../git/commit.ts';
import { readable } from '../../git/git.ts';
import { findWithheld } from '../../git/withheld.ts';
import { commitsBetween, unfinished, type WorkTree } from '../../git/worktree.ts';
import { lastRecords } from '../../project/history.ts';
import type { Work, World } from '../../ralph/loop.ts';
import { count, lineChanges, oneLine } from '../../report/format.ts';
import type { WorldParts } from './parts.ts';
import { createScenes, type Scene, type Scenes } from './scene.ts';

const unreadable = (scenes: Scenes): string => {
  const why = scenes.problem();
  const text = 'git cannot read the work tree: this iteration is not counted, kept or committed.';
  return why === null ? text : `${text} git says: ${oneLine(why)}`;
};
const nothing: Work = { git: null, commit: null, commitProblem: null, checkpoint: null };

export interface WorkWatch {
  readonly watch: World['watchWork'];
  /** Somebody else may be at the files between two iterations: they are looked at anew before the next one. */
  disturbed(): void;
}

/** What an iteration does to the work tree: counted, kept as a checkpoint, and committed. */
export const makeWork = (parts: WorldParts): WorkWatch => {
  const { tree, emit } = parts;
  if (tree === null) return { watch: async () => async () => nothing, disturbed: () => {} };
  const named = new Set<string>();
  let opened: Opened | null = null;
  let known: Scene | null = null;
  return {
    disturbed: () => {
      known = null;
    },
    watch: async (iteration) => {
      if (opened === null) {
        opened = await open(parts, tree);
        known = await opened.scenes.look();
        if (known !== null && opened.cutOffTree !== null) known = { ...known, id: opened.cutOffTree };
      }
      const { checkpoints, owed, scenes } = opened;
      const before = known ?? (await scenes.look());
      known = null;
      if (before === null) {
        emit({ type: 'notice', text: unreadable(scenes) });
        return async () => nothing;
      }
      await checkpoints.before(iteration, before.id);
      const iterationWork = { ...parts, tree, scenes, checkpoints, iteration, before, named, owed };
      return async () => {
        const after = await scenes.look();
        const work = after && (await workSince(iterationWork, after));
        if (work === null) {
          emit({ type: 'notice', text: unreadable(scenes) });
          return nothing;
        }
        // Where nothing was committed, and so no hook ran, the next iteration begins with what this one has left.
        if (work.commit === null && work.commitProblem === null) known = after;
        return work;
      };
    },
  };
};

interface Opened {
  readonly scenes: Scenes;
  readonly checkpoints: Checkpoints;
  /** What earlier iterations changed and git refused to commit. */
  readonly owed: Set<string>;
  /** What an iteration that was cut off began with; null when there is none, or its work cannot be told from others'. */
  readonly cutOffTree: string | null;
}

const open = async (parts: WorldParts, tree: WorkTree): Promise<Opened> => {
  const { plan, place, wasCutOff } = parts;
  const checkpoints = await openCheckpoints(tree, { ...plan, finished: plan.firstIteration - 1 });
  // In a worktree of its own, what an iteration that was cut off has left is nobody else's.
  const cutOffTree = place.worktree !== null && wasCutOff ? checkpoints.lastTree() : null;
  const scenes = createScenes(parts, tree, checkpoints.found);
  return { scenes, checkpoints, owed: await owedBefore(parts, tree), cutOffTree };
};

/** What the iterations before an interruption changed, and git refused to commit. */
const owedBefore = async ({ project, plan }: WorldParts, tree: WorkTree): Promise<Set<string>> => {
  const owed = new Set<string>();
  if (plan.firstIteration === 1 || !plan.commit) return owed;
  const records = await lastRecords(project, plan.change, mostOwed);
  const done = records.findLastIndex(({ run, commitProblem }) => run !== plan.run || commitProblem === null);
  for (const { checkpoint, git } of records.slice(done + 1)) {
    if (checkpoint === null || git?.filesChanged === 0) continue;
    const changes = await changesBetween(tree, [`${checkpoint}^`, checkpoint], { renames: false });
    for (const change of changes ?? []) if (!isNewNested(change)) owed.add(change.name);
  }
  return owed;
};

const isNewNested = ({ nested, status }: Difference) => nested && status === 'added';

/** Of how many iterations the work is made up for after an interruption. */
const mostOwed = 50;

interface IterationWork extends WorldParts, Pick<Opened, 'scenes' | 'checkpoints' | 'owed'> {
  readonly tree: WorkTree;
  readonly iteration: number;
  readonly before: Scene;
  /** Files of which it was said that they are not committed. */
  readonly named: Set<string>;
}

/** null when git cannot tell. */
const workSince = async (work: IterationWork, after: Scene): Promise<Work | null> => {
  const { tree, scenes, before, checkpoints, iteration } = work;
  const all = after.id === before.id ? [] : await changesBetween(tree, [before.id, after.id], { renames: true });
  if (all === null) return null;
  const changes = all.filter(({ name }) => !scenes.isLeftOut(name));
  const inside = scenes.inside([before, after], changes);
  const git = summarise([...changes, ...inside], await commitsBetween(tree, [before.head, after.head]));
  const checkpoint = await checkpoints.after(iteration, after.id);
  if (checkpoint === null) work.emit({ type: 'notice', text: 'git refuses to keep a checkpoint of this iteration.' });
  if (work.plan.commit) for (const name of repositoriesOf(inside, after)) sayOnce(work, name, ofItsOwn(name));
  return { git, checkpoint, ...(await commitWork(work, after.id, { changes, git: summarise(changes, git.commits) })) };
};

const repositoriesOf = (inside: readonly Difference[], { nested }: Scene): string[] =>
  [...nested.keys()].filter((path) => inside.some(({ name }) => name === path || name.startsWith(`${path}/`)));

const ofItsOwn = (name: string) => `Not committed: ${readable(name)} (a repository of its own).`;

const commitWork = async (
  work: IterationWork,
  after: string,
  { changes, git }: { changes: readonly Difference[]; git: NonNullable<Work['git']> },
): Promise<Pick<Work, 'commit' | 'commitProblem'>> => {
  const { tree, options, plan, iteration, stops, emit, redactor, owed } = work;
  if (!plan.commit || changes.length + owed.size === 0) return { commit: null, commitProblem: null };
  const busy = unfinished(tree);
  if (busy !== null) {
    emit({ type: 'notice', text: `No commit: ${busy} is in progress.` });
    return { commit: null, commitProblem: null };
  }
  // What is owed may have become a secret since, or was withheld before Spool was started anew.
  const open = new Set([...owed, ...changes.filter((change) => !change.nested).map(({ name }) => name)]);
  const withheld = await findWithheld(tree, [...open], redactor);
  for (const { name, why } of withheld) sayOnce(work, name, `Not committed: ${readable(name)} (${why}).`);
  const nested = changes.filter(isNewNested).map(({ name }) => name);
  for (const name of nested) sayOnce(work, name, ofItsOwn(name));
  const kept = new Set([...withheld.map(({ name }) => name), ...nested]);
  const own = namesOf(changes.filter(({ name }) => !kept.has(name)));
  const names = [...new Set([...[...owed].filter((name) => !kept.has(name)), ...own])];
  const result = await commitFiles(tree, {
    names,
    treeId: after,
    message: fillIn(options.commitMessage, {
      change: plan.change,
      run: plan.run,
      iteration: String(iteration),
      summary: `${count(git.filesChanged, 'file')} changed, ${lineChanges(git)}`,
    }),
    kill: stops.kill,
    tag: `${plan.run}/${iteration}`,
  });
  owed.clear();
  if (result.kind === 'nothing') return { commit: null, commitProblem: null };
  if (result.kind === 'committed') {
    work.scenes.committed();
    return { commit: await work.scenes.askHead(), commitProblem: null };
  }
  for (const name of names) owed.add(name);
  emit({ type: 'notice', text: `No commit: ${result.why.split('\n').at(-1)}` });
  return { commit: null, commitProblem: result.why };
};

const sayOnce = ({ named, emit }: IterationWork, name: string, text: string): void => {
  if (named.has(name)) return;
  named.add(name);
  emit({ type: 'notice', text });
};

const fillIn = (template: string, facts: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => facts[name] ?? placeholder);
