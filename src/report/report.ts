import type { RunEvent } from '../ralph/events.ts';
import type { RunView } from '../ralph/view.ts';

/** A reader of a run: called with every event, and with the view that it led to. */
export type Report = (event: RunEvent, view: RunView) => void;
