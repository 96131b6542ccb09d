import { join, relative } from 'node:path';
import { readBlobs } from '../../git/blobs.ts';
import { toUtf8 } from '../../git/paths.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import { findWorkTree, type WorkTree } from '../../git/work-tree.ts';
import { type AcceptedTests, acceptTests, readAcceptedTests } from '../../guard/tests/accepted.ts';
import { testLanguageOf } from '../../guard/tests/languages.ts';
import { profileOf } from '../../guard/tests/profile.ts';
import { rangesOf, type Touched, touchedIn } from '../../guard/tests/ranges.ts';
import { type TestFileChange, weakenings } from '../../guard/tests/weakened.ts';
import type { RunPlan } from '../../ralph/plan.ts';
import { type GateReport, maxListed } from '../../ralph/record.ts';
import type { Redactor } from '../../secrets/redact.ts';
import type { Project } from '../../store/project.ts';
import { recordedCheckpoints } from '../../store/user-record/checkpoints.ts';
import { userRecordFolder } from '../../store/user-record/folder.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { RunContext } from '../context.ts';

export interface Weakened {
  readonly sentences: readonly string[];
  /** How to restore the files, one line each. */
  readonly restore: readonly string[];
}

export const noneWeakened: Weakened = { sentences: [], restore: [] };

type WeakenedContext = Pick<RunContext, 'tree' | 'project' | 'plan' | 'env' | 'workProject' | 'redactor'>;

/** Returns what agents have taken from the tests that existed before them. */
export const findWeakened = async (context: WeakenedContext): Promise<Weakened> => {
  const { tree, project, plan, env, workProject, redactor } = context;
  if (tree === null) return noneWeakened;
  const changed = await changedTests({ tree, project, change: plan.change, env });
  const found = weakenings(changed);
  const from = new Map(changed.map((each) => [each.path, each.from]));
  const paths = [...new Set(found.map(({ path }) => path))];
  return {
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

interface ChangedTestsRequest {
  readonly tree: Pick<WorkTree, 'root'>;
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
}

interface ChangedTest extends TestFileChange {
  /** A commit with the version before. */
  readonly from: string;
}

/** Returns the test files that agents have changed, and what they check; before as the user last had or accepted it. */
const changedTests = async ({ tree, project, change, env }: ChangedTestsRequest): Promise<ChangedTest[]> => {
  const record = userRecordFolder(project, change, env);
  const ranges = rangesOf(recordedCheckpoints(record));
  const changes = await Promise.all(
    ranges.map(async ([from, to]) => ({ from, changes: testsIn(await rawDiff(tree.root, from, to)) })),
  );
  const touched = touchedIn(changes);
  const ids = [...touched.values()].flatMap(({ before, after }) => [before, after]).filter((id) => id !== null);
  const blobs = await readBlobs(tree.root, [...new Set(ids)]);
  const accepted = readAcceptedTests(record);
  return [...touched].map(([path, file]) => profilesOf(path, file, { blobs, accepted }));
};

const testsIn = (differences: Awaited<ReturnType<typeof rawDiff>>) =>
  new Map(
    [...(differences ?? [])]
      .map(([name, { old, new: now }]) => [toUtf8(name), { before: blobOf(old), after: blobOf(now) }] as const)
      .filter(([path]) => testLanguageOf(path) !== null),
  );

/** `100644 <id>` → `<id>`; null for a file that does not exist, and for a link. */
const blobOf = (entry: string): string | null => (entry.startsWith('100') ? entry.slice(entry.indexOf(' ') + 1) : null);

interface Contents {
  readonly blobs: ReadonlyMap<string, Buffer>;
  readonly accepted: AcceptedTests;
}

const profilesOf = (path: string, { before, after, from }: Touched, { blobs, accepted }: Contents): ChangedTest => {
  const profile = (id: string | null) => {
    const bytes = id === null ? undefined : blobs.get(id);
    return bytes === undefined ? null : profileOf(path, bytes.toString('utf8'));
  };
  return {
    path,
    from,
    before: Object.hasOwn(accepted, path) ? accepted[path]! : profile(before),
    after: profile(after),
  };
};

type TamperingReport = Required<Pick<GateReport, 'tampering' | 'tamperingCount' | 'restore' | 'accept'>>;

const maxRestored = 3;

/** Adds weakened tests to what was changed in the goal. */
export const withWeakened = (
  found: TamperingReport,
  { sentences, restore }: Weakened,
  { change }: Pick<RunPlan, 'change'>,
): TamperingReport => {
  if (sentences.length === 0) return found;
  return {
    tampering: [...found.tampering, ...sentences].slice(0, maxListed),
    tamperingCount: found.tamperingCount + sentences.length,
    restore: [...found.restore, ...restore.slice(0, maxRestored)],
    accept: found.accept ?? commandLine('spool', 'accept', change),
  };
};

/** Accepts the tests as they are now. Returns a sentence for each that checks less than before. */
export const acceptWeakened = async (
  project: Project,
  { change, root, env }: { readonly change: string; readonly root: string; readonly env: NodeJS.ProcessEnv },
): Promise<string[]> => {
  const found = await findWorkTree(root, '');
  if (found.kind !== 'found') return [];
  const changed = await changedTests({ tree: found.tree, project, change, env });
  const weak = weakenings(changed);
  const paths = new Set(weak.map(({ path }) => path));
  const accepted = changed.filter(({ path }) => paths.has(path)).map(({ path, after }) => [path, after] as const);
  if (accepted.length > 0) acceptTests(userRecordFolder(project, change, env), Object.fromEntries(accepted));
  return weak.map(({ path, what }) => `${path} ${what}`);
};
