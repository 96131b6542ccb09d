import { signalExitCodes } from '../../errors.ts';
import { isInsideIteration } from '../../process/tree.ts';
import { onStopSignals } from '../../process/signals.ts';
import { suspendJob, whileSuspended } from '../../report/suspend.ts';
import { createBottomLine } from '../../report/bottom-line.ts';
import { createRowReader, isListed } from '../../report/read-run-rows.ts';
import type { Terminal } from '../../report/terminal.ts';
import { renderWatch } from '../../report/watch-screen.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { findProject, type Project } from '../../store/project.ts';
import type { Invocation } from '../shared/command.ts';
import { queueOf } from '../shared/queue-url.ts';
import { showRuns } from '../shared/show-status.ts';
import { steerRun } from '../shared/steer.ts';
import { addToContext } from '../shared/context.ts';
import { readKeys } from './keys.ts';
import { problemOf, showLive } from './live.ts';
import { type Action, emptyModel, footerOf, isRemote, type Model, press, type StartedRow, withRows } from './model.ts';
import type { RemoteWatch } from './remote.ts';

interface Watch extends Invocation {
  readonly project: Project;
  /** null without a queue. */
  readonly remote: RemoteWatch | null;
  /** Aborted to end it. */
  readonly stop: AbortSignal;
}

/** Shows all runs, with those of workers, and redraws them every second. Without a terminal it prints them once. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  if (!terminal.isInteractive || !terminal.canPrompt) {
    await showRuns({ invocation, project, json: false, all: false });
    return 0;
  }
  const queue = await queueOf(invocation, project);
  const remote = queue === null ? null : await (await import('./remote.ts')).openRemote(queue, { project, env });
  const signals = onStopSignals(() => {});
  terminal.fullScreen('enter');
  try {
    return await watch({ ...invocation, project, remote, stop: signals.stop });
  } finally {
    terminal.fullScreen('leave');
    signals.dispose();
  }
};

const redrawMs = 1000;

/** Resolves to the exit code when the user quits. */
const watch = (request: Watch): Promise<number> =>
  new Promise((resolve, reject) => {
    const { project, env, terminal, stop, remote } = request;
    const readRows = createRowReader({ project, env, redactor: createRedactor(env) });
    let model = emptyModel;
    /** Aborted to go back from the live view of a run to the table. */
    let close = new AbortController();
    let live: Promise<void> = Promise.resolve();
    let isOver = false;
    const bottom = createBottomLine(terminal, () => footerOf(model, terminal.columns));

    const draw = () => {
      if (isOver) return;
      if (model.opened !== null) return bottom.refresh();
      drawTable(model, terminal);
    };
    const refresh = async () => {
      const local = await readRows(new Date());
      const rows = remote?.merge(local) ?? local;
      model = { ...withRows(model, rows.filter(isListed)), notes: remote?.notes() ?? [] };
      draw();
    };
    const end = (settle: () => void) => {
      isOver = true;
      clearInterval(timer);
      stopResizing();
      stopSuspending();
      close.abort();
      keys.dispose();
      remote?.close();
      // It still writes to the screen.
      void live.finally(settle);
    };
    const quit = (code: number) => end(() => resolve(code));
    const fail = (error: unknown) => end(() => reject(error));
    const open = async (row: StartedRow) => {
      close = new AbortController();
      const { signal } = close;
      bottom.clear();
      const shown = { ...request, terminal: bottom.terminal, signal: AbortSignal.any([signal, stop]) };
      live = row.remote !== undefined && remote !== null ? remote.show(row, shown) : showLive(row, shown);
      await live;
      // The end of the run stays until the user has seen it.
      if (signal.aborted) return back();
      signal.addEventListener('abort', back);
    };
    const back = () => {
      model = { ...model, opened: null };
      draw();
    };
    const act = (action: Action): void => {
      switch (action.kind) {
        case 'quit':
          return quit(action.interrupted ? signalExitCodes.SIGINT : 0);
        case 'suspend':
          return suspendJob();
        case 'open':
          return void open(action.row).catch(fail);
        case 'close':
          return close.abort();
        case 'control':
        case 'context':
          void answerTo(action, request, isRemote(model, action.change) ? remote : null)
            .then((message) => {
              model = { ...model, message };
              draw();
            })
            .catch(fail);
      }
    };

    const timer = setInterval(() => void refresh().catch(fail), redrawMs);
    const redraw = () => (model.opened === null ? draw() : bottom.redraw());
    const stopResizing = terminal.onResize(redraw);
    const stopSuspending = whileSuspended({
      hide: () => {
        keys.pause();
        terminal.fullScreen('leave');
      },
      show: () => {
        keys.resume();
        terminal.fullScreen('enter');
        redraw();
      },
    });
    stop.addEventListener('abort', () => quit(signalExitCodes.SIGTERM));
    const keys = readKeys((key) => {
      const step = press(model, key);
      model = step.model;
      if (step.action !== null) act(step.action);
      draw();
    });
    void refresh().catch(fail);
  });

const drawTable = (model: Model, terminal: Terminal): void => {
  const { style, columns, symbols, rows: height } = terminal;
  const footer = footerOf(model, columns);
  terminal.fullScreen(renderWatch({ ...model, footer, now: new Date() }, { style, columns, symbols, height }));
};

/** Does what was asked for, and returns what to tell the user. `remote`: workers have the change. */
const answerTo = async (
  action: Action & { readonly kind: 'control' | 'context' },
  { project, env }: Pick<Watch, 'project' | 'env'>,
  remote: RemoteWatch | null,
): Promise<string> => {
  const { change } = action;
  try {
    if (isInsideIteration()) return 'An agent cannot steer runs.';
    const answer =
      action.kind === 'control'
        ? await remote?.steer(change, action.command)
        : await remote?.addContext(change, action.text);
    if (answer) return answer;
    if (action.kind === 'control') return await steerRun(project, change, { command: action.command, env });
    return `Added. ${await addToContext({ project, change, env }, action.text)} ${change}`;
  } catch (error) {
    return problemOf(error);
  }
};
