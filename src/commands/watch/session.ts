import { signalExitCodes } from '../../errors.ts';
import { suspendJob, whileSuspended } from '../../report/suspend.ts';
import { createBottomLine } from '../../report/bottom-line.ts';
import { createRowReader, isListed } from '../../report/read-run-rows.ts';
import type { Terminal } from '../../report/terminal.ts';
import { renderWatch } from '../../report/watch-screen.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { answerTo, type SteeringAction } from './answer.ts';
import { type Key, readKeys } from './keys.ts';
import { showLive } from './live.ts';
import { type Action, emptyModel, footerOf, isRemote, type Model, press, type StartedRow, withRows } from './model.ts';
import type { RemoteWatch } from './remote.ts';

export interface Watch extends Invocation {
  readonly project: Project;
  /** null without a queue. */
  readonly remote: RemoteWatch | null;
  /** Aborted to end it. */
  readonly stop: AbortSignal;
}

const redrawMs = 1000;

/** Resolves to the exit code when the user quits. */
export const watch = (request: Watch): Promise<number> =>
  new Promise((resolve, reject) => {
    const session = createSession(request, {
      quit: (code) => end(session, () => resolve(code)),
      fail: (error) => end(session, () => reject(error)),
    });
    session.stopListening = listen(session);
    void refresh(session).catch(session.fail);
  });

interface WatchSession extends Watch {
  readonly readRows: ReturnType<typeof createRowReader>;
  readonly bottom: ReturnType<typeof createBottomLine>;
  readonly quit: (code: number) => void;
  readonly fail: (error: unknown) => void;
  stopListening: () => void;
  model: Model;
  /** Aborted to go back from the live view of a run to the table. */
  close: AbortController;
  /** Resolves when the live view has ended. */
  live: Promise<void>;
  isOver: boolean;
}

const createSession = (request: Watch, ends: Pick<WatchSession, 'quit' | 'fail'>): WatchSession => {
  const { project, env, terminal } = request;
  const session: WatchSession = {
    ...request,
    ...ends,
    readRows: createRowReader({ project, env, redactor: createRedactor(env) }),
    bottom: createBottomLine(terminal, () => footerOf(session.model, terminal.columns)),
    stopListening: () => {},
    model: emptyModel,
    close: new AbortController(),
    live: Promise.resolve(),
    isOver: false,
  };
  return session;
};

const end = (session: WatchSession, settle: () => void): void => {
  session.isOver = true;
  session.stopListening();
  session.close.abort();
  session.remote?.close();
  // It still writes to the screen.
  void session.live.finally(settle);
};

/** Listens to the clock, the keys, the window and signals until the returned function is called. */
const listen = (session: WatchSession): (() => void) => {
  const { terminal, stop } = session;
  const timer = setInterval(() => void refresh(session).catch(session.fail), redrawMs);
  const stopResizing = terminal.onResize(() => redraw(session));
  const keys = readKeys((key) => onKey(session, key));
  const stopSuspending = whileSuspended({
    hide: () => {
      keys.pause();
      terminal.fullScreen('leave');
    },
    show: () => {
      keys.resume();
      terminal.fullScreen('enter');
      redraw(session);
    },
  });
  stop.addEventListener('abort', () => session.quit(signalExitCodes.SIGTERM));
  return () => {
    clearInterval(timer);
    stopResizing();
    stopSuspending();
    keys.dispose();
  };
};

const refresh = async (session: WatchSession): Promise<void> => {
  const { readRows, remote } = session;
  const local = await readRows(new Date());
  const rows = remote?.merge(local) ?? local;
  session.model = { ...withRows(session.model, rows.filter(isListed)), warnings: remote?.warnings() ?? [] };
  draw(session);
};

const onKey = (session: WatchSession, key: Key): void => {
  const step = press(session.model, key);
  session.model = step.model;
  if (step.action !== null) act(session, step.action);
  draw(session);
};

const act = (session: WatchSession, action: Action): void => {
  switch (action.kind) {
    case 'quit':
      return session.quit(action.interrupted ? signalExitCodes.SIGINT : 0);
    case 'suspend':
      return suspendJob();
    case 'open':
      return void openLive(session, action.row).catch(session.fail);
    case 'close':
      return session.close.abort();
    case 'control':
    case 'context':
      return void steer(session, action).catch(session.fail);
  }
};

const openLive = async (session: WatchSession, row: StartedRow): Promise<void> => {
  const { remote, bottom, stop } = session;
  session.close = new AbortController();
  const { signal } = session.close;
  bottom.clear();
  const shown = { ...session, terminal: bottom.terminal, signal: AbortSignal.any([signal, stop]) };
  session.live = row.remote !== undefined && remote !== null ? remote.show(row, shown) : showLive(row, shown);
  await session.live;
  // The end of the run stays until the user has seen it.
  if (signal.aborted) return closeLive(session);
  signal.addEventListener('abort', () => closeLive(session));
};

const closeLive = (session: WatchSession): void => {
  session.model = { ...session.model, opened: null };
  draw(session);
};

const steer = async (session: WatchSession, action: SteeringAction): Promise<void> => {
  const message = await answerTo(action, session, isRemote(session.model, action.change) ? session.remote : null);
  session.model = { ...session.model, message };
  draw(session);
};

const redraw = (session: WatchSession): void =>
  session.model.opened === null ? draw(session) : session.bottom.redraw();

const draw = ({ isOver, model, bottom, terminal }: WatchSession): void => {
  if (isOver) return;
  if (model.opened !== null) return bottom.refresh();
  drawTable(model, terminal);
};

const drawTable = (model: Model, terminal: Terminal): void => {
  const { style, columns, symbols, rows: height } = terminal;
  const footer = footerOf(model, columns);
  terminal.fullScreen(renderWatch({ ...model, footer, now: new Date() }, { style, columns, symbols, height }));
};
