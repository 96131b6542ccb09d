import type { RunRow } from '../../ralph/run-row.ts';
import { endOf, withoutLast } from '../../report/shorten.ts';
import { keyHelp, openKeyHelp } from '../../report/watch-screen.ts';
import type { ControlCommand } from '../../ralph/control.ts';
import type { Key } from './keys.ts';

/** What `spool watch` shows, and what its keys are for now. */
export interface Model {
  readonly rows: readonly RunRow[];
  /** Lines about the queue and its workers. */
  readonly warnings: readonly string[];
  /** The change of the selected row. */
  readonly selected: string | null;
  /** The change whose live view covers the table; null if none does. */
  readonly opened: string | null;
  readonly mode: Mode;
  /** The answer to the last key. */
  readonly message: string | null;
}

type Mode =
  /** Each key is a command. */
  | { readonly kind: 'keys' }
  /** Asks whether to stop a run in the middle of its iteration. */
  | { readonly kind: 'confirm'; readonly change: string }
  | { readonly kind: 'context'; readonly change: string; readonly text: string };

/** The row of a run, which a queued change does not have yet. */
export type StartedRow = RunRow & { readonly run: string };

/** What a key does. */
export type Action =
  | { readonly kind: 'quit'; readonly interrupted: boolean }
  | { readonly kind: 'suspend' }
  | { readonly kind: 'open'; readonly row: StartedRow }
  | { readonly kind: 'close' }
  | { readonly kind: 'control'; readonly command: ControlCommand; readonly change: string }
  | { readonly kind: 'context'; readonly change: string; readonly text: string };

/** Whether workers have the change. */
export const isRemote = ({ rows }: Model, id: string): boolean =>
  rows.some(({ change, remote }) => change === id && remote !== undefined);

export interface Step {
  readonly model: Model;
  readonly action: Action | null;
}

export const emptyModel: Model = {
  rows: [],
  warnings: [],
  selected: null,
  opened: null,
  mode: { kind: 'keys' },
  message: null,
};

/** The selected row stays the same, wherever it is now. */
export const withRows = (model: Model, rows: readonly RunRow[]): Model => {
  const isThere = rows.some(({ change }) => change === model.selected);
  return { ...model, rows, selected: isThere ? model.selected : (rows[0]?.change ?? null) };
};

export const press = (model: Model, key: Key): Step => {
  if (key.ctrl && key.name === 'c') return { model, action: { kind: 'quit', interrupted: true } };
  if (key.ctrl && key.name === 'z') return { model, action: { kind: 'suspend' } };
  const { mode } = model;
  switch (mode.kind) {
    case 'keys':
      return (model.opened === null ? pressInTable : pressInRun)({ ...model, message: null }, key);
    case 'confirm': {
      const action = key.text === 'y' ? control('stop', mode.change) : null;
      return { model: { ...model, mode: { kind: 'keys' } }, action };
    }
    case 'context':
      return pressInText(model, mode, key);
  }
};

const control = (command: ControlCommand, change: string): Action => ({ kind: 'control', command, change });

const pressInTable = (model: Model, key: Key): Step => {
  if (key.text === 'q') return { model, action: { kind: 'quit', interrupted: false } };
  if (key.name === 'up' || key.text === 'k') return { model: moved(model, -1), action: null };
  if (key.name === 'down' || key.text === 'j') return { model: moved(model, 1), action: null };
  const row = rowOf(model, model.selected);
  if (row === undefined) return { model, action: null };
  if (!isEnter(key)) return pressOnRow(model, row, key);
  if (!isStarted(row)) {
    const why = row.status === 'unreadable' ? 'Cannot be read' : 'Not started yet';
    return { model: { ...model, message: `${why}: ${row.change}` }, action: null };
  }
  return { model: { ...model, opened: row.change }, action: { kind: 'open', row } };
};

const pressInRun = (model: Model, key: Key): Step => {
  if (key.text === 'q' || key.name === 'escape') return { model, action: { kind: 'close' } };
  const row = rowOf(model, model.opened);
  return row === undefined ? { model, action: null } : pressOnRow(model, row, key);
};

const rowOf = ({ rows }: Model, id: string | null): RunRow | undefined => rows.find(({ change }) => change === id);

const isStarted = (row: RunRow): row is StartedRow => row.run !== null;

const pressOnRow = (model: Model, row: RunRow, key: Key): Step => {
  const { change, status, leftovers, remote } = row;
  const on = (mode: Mode): Step => ({ model: { ...model, mode }, action: null });
  const ask = (command: ControlCommand): Step => ({ model, action: control(command, change) });
  if (key.text === 'c') return on({ kind: 'context', change, text: '' });
  if (!'sSpr'.includes(key.text) || key.text === '') return { model, action: null };
  // What can be done with a change of the queue, the queue knows.
  const canBeSteered = status === 'running' || status === 'queued' || leftovers > 0 || remote !== undefined;
  if (!canBeSteered) return { model: { ...model, message: `Not running: ${change}` }, action: null };
  switch (key.text) {
    case 's':
      return ask('stop-after-iteration');
    case 'S':
      return status === 'running' ? on({ kind: 'confirm', change }) : ask('stop');
    case 'p':
      return ask('pause');
    default:
      return ask('resume');
  }
};

const pressInText = (model: Model, mode: Mode & { readonly kind: 'context' }, key: Key): Step => {
  const { change, text } = mode;
  const typed = (next: string): Step => ({ model: { ...model, mode: { ...mode, text: next } }, action: null });
  const closed: Model = { ...model, mode: { kind: 'keys' } };
  if (key.name === 'escape') return { model: closed, action: null };
  if (isEnter(key))
    return { model: closed, action: text.trim() === '' ? null : { kind: 'context', change, text: text.trim() } };
  if (key.name === 'backspace') return typed(withoutLast(text));
  return typed(text + key.text);
};

const isEnter = ({ name }: Key): boolean => name === 'return' || name === 'enter';

const moved = (model: Model, by: number): Model => {
  const at = model.rows.findIndex(({ change }) => change === model.selected);
  const next = Math.max(0, Math.min(model.rows.length - 1, at + by));
  return { ...model, selected: model.rows[next]?.change ?? null };
};

/** The last line of the screen. Names come last: they may be cut off, and their row is selected. */
export const footerOf = ({ mode, message, opened }: Model, columns: number): string => {
  if (mode.kind === 'confirm') return `Stop now? y/n: ${mode.change}`;
  // Its end is what the user types, so the beginning is left out where it is too long.
  if (mode.kind === 'context') return endOf(`Context (Enter adds, Esc cancels): ${mode.text}▏`, columns - 2);
  return message ?? (opened === null ? keyHelp : openKeyHelp)(columns);
};
