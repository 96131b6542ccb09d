import { archivedChange, changeOf } from '../../changes/sources.ts';
import { currentTasks } from '../../changes/tasks/current.ts';
import { textInside } from '../../files/inside.ts';
import { stampOf } from '../../files/stamp.ts';
import { listCheckpoints } from '../../git/checkpoint.ts';
import { usageOf } from '../../ralph/usage.ts';
import { currentStatus, type RunView } from '../../ralph/view.ts';
import { activityText } from '../../report/activity.ts';
import { symbolsFor } from '../../report/symbols.ts';
import { elapsedNow, lastActivity } from '../../store/activity.ts';
import { loadContext } from '../../store/added-context.ts';
import { followRun } from '../../store/follow.ts';
import { leftoversOf } from '../../store/leftovers.ts';
import { journalFile } from '../../store/paths.ts';
import { lastIterationIn, runsOf } from '../../store/runs.ts';
import { loopOwner, loadRun, readStart } from '../../store/state.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { asRecorded, recordedEnds } from '../../store/user-state/steps.ts';
import { statsOf } from '../../files/read.ts';
import type { Change } from '../../changes/source.ts';
import type { ChangeDetail, IterationSummary, Row, RowStatus, RunDetail, RunSummary, TaskItem } from '../api.ts';
import { notFound } from '../http/refusal.ts';
import { createCache } from './cache.ts';
import type { History } from './history.ts';
import type { Subject } from './subject.ts';

export interface RunReader {
  change(row: Row): Promise<ChangeDetail>;
  run(row: Row, run: string): Promise<RunDetail>;
  tasks(change: string): Promise<readonly TaskItem[] | null>;
}

interface RunReaderOptions extends Subject {
  readonly histories: (change: string) => History;
}

/** What the page shows of a change and of one of its runs. */
export const createRunReader = (subject: RunReaderOptions): RunReader => {
  const olderView = createOlderViews(subject);
  return {
    change: async (row) => changeDetail(subject, row, await latestView(subject, row.change)),
    tasks: async (change) => {
      const latest = await latestView(subject, change);
      return tasksOf(subject, await changeOf(subject.project, change, latest?.source ?? null), latest);
    },
    run: async (row, run) => {
      const latest = await latestView(subject, row.change);
      const view = latest?.run === run ? latest : await olderView(row.change, run);
      return runDetail(subject, row, { run, view, latest });
    },
  };
};

/** The view of the last run of a change, with its status now; null if there is none. */
const latestView = async ({ project, env }: Subject, change: string): Promise<RunView | null> => {
  const saved = (await loadRun(project, change).catch(() => null))?.view ?? null;
  if (saved === null) return null;
  const view = asRecorded(userStateFolder(project, change, env), { ...saved, change });
  const status = currentStatus(view, loopOwner(project, change) !== null);
  return status === 'running' ? { ...view, elapsedMs: elapsedNow(project, view, new Date()) } : { ...view, status };
};

/** An older run is known by its journal. Reading all of it takes a while, so it is kept. */
const createOlderViews = (subject: Subject) => {
  const views = createCache<{ stamp: string; view: Promise<RunView | null> }>();
  return (change: string, run: string): Promise<RunView | null> => {
    const stamp = stampOf(statsOf(journalFile(subject.project, change, run)));
    const entry = views.get(`${change} ${run}`, () => ({ stamp: 'unread', view: Promise.resolve(null) }));
    if (entry.stamp !== stamp) Object.assign(entry, { stamp, view: lastViewOf(subject, change, run) });
    return entry.view;
  };
};

const changeDetail = async (subject: RunReaderOptions, row: Row, latest: RunView | null): Promise<ChangeDetail> => {
  const { project, env, histories } = subject;
  const { change } = row;
  const target = await changeNow(subject, row);
  return {
    row,
    documents: target === null ? [] : documentsOf(subject, target),
    tasks: target === null ? null : await tasksOf(subject, target, latest),
    runs: await runsOfChange(subject, row, await histories(change).runs()),
    context: loadContext({ project, change, env }).text,
  };
};

interface FoundViews {
  readonly run: string;
  readonly view: RunView | null;
  /** The view of the latest run, which may be the same. */
  readonly latest: RunView | null;
}

const runDetail = async (
  subject: RunReaderOptions,
  row: Row,
  { run, view, latest }: FoundViews,
): Promise<RunDetail> => {
  const { project, histories } = subject;
  const { change } = row;
  const iterations = (await histories(change).runs()).get(run) ?? [];
  if (view === null && iterations.length === 0 && !runsOf(project, change).includes(run))
    throw notFound('There is no such run.');
  const current = latest?.run === run ? latest : null;
  return {
    ...(await changeDetail(subject, row, latest)),
    run,
    isLatest: current !== null,
    view,
    status: statusOf(view, iterations),
    activity: current && activityOf(subject, current),
    lastIteration: Math.max(
      iterations.at(-1)?.iteration ?? 0,
      lastIterationIn(project, change, run) ?? 0,
      current?.status === 'running' ? current.iteration : 0,
    ),
    checkpoints: await checkpointNames(subject, change, run),
    leftovers: current?.status === 'interrupted' ? leftoversOf(project, current) : [],
    now: new Date().toISOString(),
  };
};

/** In order; `before-7` and the like are left out: the page does not offer them. */
const checkpointNames = async ({ project }: Subject, change: string, run: string): Promise<readonly string[]> =>
  (await listCheckpoints(project, change, run))
    .map(({ name }) => name)
    .filter((name) => /^r?\d+$/.test(name))
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

const statusOf = (view: RunView | null, iterations: readonly IterationSummary[]): RowStatus =>
  view?.status ?? (iterations.at(-1)?.outcome === 'complete' ? 'complete' : 'interrupted');

const lastViewOf = async ({ project, env }: Subject, change: string, run: string): Promise<RunView | null> => {
  let last: RunView | null = null;
  const events = followRun(project, change, { run, env, wait: false, fromIteration: Infinity });
  try {
    for await (const { view } of events) last = view;
  } catch {
    // Something else is in the place of the journal.
  }
  const known = last ?? readStart(project, change, run);
  return known && { ...known, status: currentStatus(known, false) };
};

/** null for a change that is gone. */
const changeNow = async (
  { project }: Subject,
  { change, archived, deleted, source, remote }: Row,
): Promise<Change | null> => {
  if (deleted || (source === null && remote !== null)) return null;
  try {
    return archived ? await archivedChange(project, change) : await changeOf(project, change, source);
  } catch {
    return null;
  }
};

const maxDocument = 200_000;

/** What the change asks for: the documents that people write. */
const documentsOf = ({ project, redactor }: Subject, change: Change): ChangeDetail['documents'] =>
  change.documents(project.root).flatMap(({ path, name, kind }) => {
    if (kind === 'main-spec' || kind === 'checklist' || kind === 'context') return [];
    try {
      const text = textInside(project.root, path);
      if (text === null) return [];
      return [{ name, text: redactor.beginningOf(text, maxDocument), isCut: text.length > maxDocument }];
    } catch {
      return [];
    }
  });

const tasksOf = async (
  { project }: Subject,
  change: Change,
  latest: RunView | null,
): Promise<readonly TaskItem[] | null> => {
  try {
    return await currentTasks(project, change, latest);
  } catch {
    return null;
  }
};

/** Those in the history, and those that have a folder, latest first. */
const runsOfChange = async (
  { project, env }: Subject,
  { change, run: latest, status, usage: spent }: Row,
  history: ReadonlyMap<string, readonly IterationSummary[]>,
): Promise<readonly RunSummary[]> => {
  const ids = [...new Set([...history.keys(), ...runsOf(project, change)])].toSorted().toReversed();
  const folder = userStateFolder(project, change, env);
  return ids.map((run): RunSummary => {
    const iterations = history.get(run) ?? [];
    const ended = recordedEnds(folder, run)?.at(-1) as RunView['status'] | undefined;
    const isOwn = run === latest && status !== 'queued' && status !== 'none' && status !== 'unreadable';
    return {
      run,
      startedAt: iterations[0]?.startedAt ?? readStart(project, change, run)?.startedAt ?? null,
      status: isOwn ? status : (ended ?? null),
      iterations: iterations.at(-1)?.iteration ?? 0,
      usage: isOwn ? spent : usageOf(iterations),
    };
  });
};

const activityOf = ({ project, env, redactor }: Subject, view: RunView): RunDetail['activity'] => {
  const shown = { symbols: symbolsFor(env), root: view.workspace?.root ?? null };
  const found = lastActivity(project, view, (event) => activityText(event, shown));
  return found && { text: redactor.oneLine(found.text, 300), at: found.at };
};
