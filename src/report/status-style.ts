import { runPhases, type RunView } from '../ralph/view.ts';
import type { Canvas } from './canvas.ts';
import type { Style } from './terminal.ts';

/** The mark of a status, in its color. */
export const markOf = (status: RunView['status'], { style }: Pick<Canvas, 'style'>): string =>
  style(marks[status][1], marks[status][0]);

/** The color of a status, or of the phase of a run; null for one that only the overview has. */
export const colorOf = (status: string | undefined): Style | null =>
  phases.has(status) ? 'yellow' : (Object.entries(marks).find(([name]) => name === status)?.[1][1] ?? null);

const phases: ReadonlySet<string | undefined> = new Set(runPhases);

const marks: Record<RunView['status'], readonly [string, Style]> = {
  running: ['●', 'cyan'],
  complete: ['✔', 'green'],
  limit: ['■', 'yellow'],
  failed: ['✘', 'red'],
  blocked: ['✘', 'red'],
  interrupted: ['■', 'yellow'],
};
