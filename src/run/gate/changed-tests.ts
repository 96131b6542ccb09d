import { readInside } from '../../files/inside.ts';
import { missingBlobs, readBlobs } from '../../git/blobs.ts';
import { toUtf8 } from '../../git/paths.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import { parseSkipped, stillSkipped } from '../../git/tree-snapshots/skipped.ts';
import type { WorkTree } from '../../git/work-tree.ts';
import { type AcceptedTests, readAcceptedTests } from '../../guard/weakened-tests/accepted.ts';
import { testLanguageOf } from '../../guard/weakened-tests/languages.ts';
import { profileOf } from '../../guard/weakened-tests/profile.ts';
import { rangesOf, type Touched, touchedIn } from '../../guard/weakened-tests/ranges.ts';
import type { TestFileChange } from '../../guard/weakened-tests/weakened.ts';
import type { FileLists } from '../../store/file-lists.ts';
import type { Project } from '../../store/project.ts';
import { recordedCheckpoints } from '../../store/user-state/checkpoints.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';

interface ChangedTestsRequest {
  readonly tree: Pick<WorkTree, 'root'>;
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
  /** Of the last run. */
  readonly fileLists: Pick<FileLists, 'read'>;
}

interface ChangedTest extends TestFileChange {
  /** A commit with the version before. */
  readonly from: string;
}

interface ChangedTests {
  readonly changed: readonly ChangedTest[];
  /** Runs of which git cannot read the checkpoints, or the tests in them. */
  readonly unread: ReadonlySet<string>;
}

/** Returns the test files that agents have changed, and what they check; before as the user last had or accepted it. */
export const changedTests = async (request: ChangedTestsRequest): Promise<ChangedTests> => {
  const { tree, project, change, env } = request;
  const userState = userStateFolder(project, change, env);
  const checkpoints = recordedCheckpoints(userState);
  const ranges = await Promise.all(
    rangesOf(checkpoints).map(async ({ run, from, to }) => {
      const differences = await rawDiff(tree.root, from, to);
      return { run, from, isRead: differences !== null, changes: testsIn(differences) };
    }),
  );
  const touched = touchedIn(ranges);
  const ids = [...touched.values()].flatMap(({ before, after }) => [before, after]).filter((id) => id !== null);
  const blobs = await readBlobs(tree.root, [...new Set(ids)]);
  const unread = ids.filter((id) => !blobs.has(id));
  const lost = new Set(unread.length === 0 ? [] : await missingBlobs(tree.root, unread));
  const lostFrom = new Set([...touched.values()].flatMap(({ before, from }) => (lost.has(before ?? '') ? from : [])));
  const accepted = readAcceptedTests(userState);
  const start = checkpoints.findLast(({ name }) => name === '0')?.commit;
  const changed = [
    ...[...touched].map(([path, file]) => profilesOf(path, file, { blobs, accepted })),
    ...(start === undefined ? [] : await skippedTests(request, start, accepted)),
  ];
  return {
    changed: [...new Map(changed.map((each) => [each.path, each])).values()],
    unread: new Set(ranges.filter(({ isRead, from }) => !isRead || lostFrom.has(from)).map(({ run }) => run)),
  };
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

/** Test files that checkpoints leave out, for example since they contain what looks like a key. */
const skippedTests = async (
  { tree, fileLists }: ChangedTestsRequest,
  from: string,
  accepted: AcceptedTests,
): Promise<ChangedTest[]> => {
  const paths = stillSkipped(parseSkipped(fileLists.read('skipped.json')))
    .map(({ name }) => toUtf8(name))
    .filter((path) => testLanguageOf(path) !== null && !path.includes('\n'));
  const found: ChangedTest[] = [];
  for (const path of paths) {
    const [blob] = (await readBlobs(tree.root, [`${from}:${path}`])).values();
    const before = blob === undefined ? null : profileOf(path, blob.toString('utf8'));
    const after = profileOf(path, textIfReadable(tree.root, path));
    found.push({ path, from, before: Object.hasOwn(accepted, path) ? accepted[path]! : before, after });
  }
  return found;
};

const textIfReadable = (root: string, path: string): string => {
  try {
    return readInside(root, path)?.toString('utf8') ?? '';
  } catch {
    return '';
  }
};
