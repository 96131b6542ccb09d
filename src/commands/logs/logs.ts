import { resolveAnyChange } from '../../changes/sources.ts';
import { expects, parseValue } from '../../config/values.ts';
import { userError } from '../../errors.ts';
import { onStopSignals } from '../../process/signals.ts';
import { iterationLog, iterationPrompt, reviewLog, reviewPrompt, runFolder } from '../../store/paths.ts';
import { findProject, type Project } from '../../store/project.ts';
import { lastIterationIn, runsOf } from '../../store/runs.ts';
import { readState } from '../../store/state.ts';
import type { Invocation } from '../registry/command.ts';
import { queueOf } from '../with-queue/queue-url.ts';
import { showEvents } from './events.ts';
import { followLogs, printFile } from './files.ts';
import type { LogFiles } from './log-files.ts';

/** What is shown, besides the events as a person reads them. */
const forms = ['raw', 'prompt', 'json'] as const;

export type Form = (typeof forms)[number];

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env, terminal } = invocation;
  const [form, second] = forms.filter((name) => rawFlags[name]);
  if (second !== undefined) throw userError('two-actions', `--${form}`, `--${second}`);
  const follow = Boolean(rawFlags.follow);
  if (form === 'prompt' && follow) throw userError('two-actions', '--prompt', '--follow');
  const onlyReviews = Boolean(rawFlags.review);
  if (onlyReviews && form === 'raw' && follow) throw userError('two-actions', '--review --raw', '--follow');
  const [promptPath, logPath] = onlyReviews ? [reviewPrompt, reviewLog] : [iterationPrompt, iterationLog];
  const project = findProject(cwd);
  const wanted = args[1] === undefined ? null : parseValue('count', args[1]);
  if (args[1] !== undefined && wanted === null) throw userError('bad-value', 'n', expects.count, args[1]);
  const queue = await queueOf(invocation, project);
  if (queue !== null) {
    const { showQueuedLogs } = await import('./queued.ts');
    const code = await showQueuedLogs(queue, invocation, {
      project,
      form: form ?? null,
      follow,
      onlyReviews,
      iteration: wanted as number | null,
    });
    if (code !== null) return code;
  }
  const change = await resolveAnyChange(project, args[0]!);
  const { run: id, current } = await findRun(project, change, rawFlags.run as string | undefined);
  const iteration = (wanted as number | null) ?? current;
  const folder = runFolder(project, change, id);
  const signals = onStopSignals(() => {});
  const closing = new AbortController();
  terminal.onClosed(() => closing.abort());
  const { signal: closed } = closing;
  const stop = AbortSignal.any([signals.stop, closed]);
  const files: LogFiles = { project, change, run: id, env, terminal, signals, closed, stop };
  try {
    if (form === 'prompt') return await printFile(files, promptPath(folder, iteration), { iteration, what: 'prompt' });
    if (form === 'raw' && follow) return await followLogs(files, iteration);
    if (form === 'raw') return await printFile(files, logPath(folder, iteration), { iteration, what: 'log' });
    const options = { iteration, follow, onlyReviews, json: form === 'json', verbose: Boolean(rawFlags.verbose), cwd };
    return await showEvents(files, options);
  } finally {
    signals.dispose();
  }
};

/** The requested run, or the last one, and its current iteration. */
const findRun = async (
  project: Project,
  change: string,
  wanted: string | undefined,
): Promise<{ readonly run: string; readonly current: number }> => {
  const view = await readState(project, change);
  const run = wanted ?? view?.run;
  const runs = runsOf(project, change);
  if (run === undefined) throw userError('no-run', change, null, runs);
  if (run === view?.run) return { run, current: Math.max(1, view.iteration) };
  if (!runs.includes(run)) throw userError('no-run', change, run, runs);
  return { run, current: lastIterationIn(project, change, run) ?? 1 };
};
