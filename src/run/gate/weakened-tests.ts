import { join, relative } from 'node:path';
import { findWorkTree } from '../../git/work-tree.ts';
import { acceptTests } from '../../guard/weakened-tests/accepted.ts';
import { weakenings } from '../../guard/weakened-tests/weakened.ts';
import type { RunPlan } from '../../ralph/plan.ts';
import { type GateReport, type IterationRecord, maxListed } from '../../ralph/record.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { openFileLists } from '../../store/file-lists.ts';
import { runFolder } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { RunContext } from '../context.ts';
import { changedTests } from './changed-tests.ts';

export interface Weakened {
  readonly sentences: readonly string[];
  /** How to restore the files, one line each. */
  readonly restore: readonly string[];
  /** Whether the user can accept it. */
  readonly isAcceptable: boolean;
}

export const noneWeakened: Weakened = { sentences: [], restore: [], isAcceptable: true };

/** An agent that keeps git from working must not get around the comparison. */
const notCompared: Weakened = {
  sentences: ['the tests cannot be compared with those from before the agent, because git cannot save or read them'],
  restore: ['make git work in this folder as it did when the run began'],
  isAcceptable: false,
};

type WeakenedContext = Pick<RunContext, 'tree' | 'project' | 'plan' | 'env' | 'workProject' | 'redactor' | 'fileLists'>;

/** Returns what agents have taken from the tests that existed before them. */
export const findWeakened = async (
  context: WeakenedContext,
  { checkpoint }: Pick<IterationRecord, 'checkpoint'>,
): Promise<Weakened> => {
  const { tree, project, plan, env, workProject, redactor, fileLists } = context;
  if (tree === null) return noneWeakened;
  const { changed, unread } = await changedTests({ tree, project, change: plan.change, env, fileLists });
  if (checkpoint === null || unread.has(plan.run)) return notCompared;
  const found = weakenings(changed);
  const from = new Map(changed.map((each) => [each.path, each.from]));
  const paths = [...new Set(found.map(({ path }) => path))];
  return {
    isAcceptable: true,
    sentences: found.map(({ path, what }) => sentence(path, what, redactor)),
    restore: paths.map((path) => {
      const shown = relative(workProject.root, join(tree.root, path));
      return commandLine('git', 'restore', `--source=${from.get(path)!.slice(0, 12)}`, '--', shown);
    }),
  };
};

const sentence = (path: string, what: string, redactor: Redactor): string =>
  redactor.oneLine(`${path} ${what} while the agent was running`, maxSentence);

const maxSentence = 400;

type TamperingReport = Required<Pick<GateReport, 'tampering' | 'tamperingCount' | 'restore' | 'accept'>>;

const maxRestored = 3;

/** Adds weakened tests to what was changed in the goal. */
export const withWeakened = (
  found: TamperingReport,
  { sentences, restore, isAcceptable }: Weakened,
  { change }: Pick<RunPlan, 'change'>,
): TamperingReport => {
  if (sentences.length === 0) return found;
  return {
    tampering: [...found.tampering, ...sentences].slice(0, maxListed),
    tamperingCount: found.tamperingCount + sentences.length,
    restore: [...found.restore, ...restore.slice(0, maxRestored)],
    accept: found.accept ?? (isAcceptable ? commandLine('spool', 'accept', change) : null),
  };
};

interface AcceptedIn {
  readonly change: string;
  /** The last run. */
  readonly run: string;
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Accepts the tests as they are now. Returns a sentence for each that checks less than before. */
export const acceptWeakened = async (project: Project, { change, run, root, env }: AcceptedIn): Promise<string[]> => {
  const found = await findWorkTree(root, '');
  if (found.kind !== 'found') return [];
  const userState = userStateFolder(project, change, env);
  const fileLists = openFileLists({ run, folder: runFolder(project, change, run), userState });
  const { changed } = await changedTests({ tree: found.tree, project, change, env, fileLists });
  const weak = weakenings(changed);
  const paths = new Set(weak.map(({ path }) => path));
  const accepted = changed.filter(({ path }) => paths.has(path)).map(({ path, after }) => [path, after] as const);
  if (accepted.length > 0) acceptTests(userState, Object.fromEntries(accepted));
  return weak.map(({ path, what }) => `${path} ${what}`);
};
