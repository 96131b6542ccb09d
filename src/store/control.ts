import { closeSync, fstatSync, lstatSync, readSync } from 'node:fs';
import { systemProblem, UserError } from '../errors.ts';
import { openSafely, removeSafely, writeAll } from '../files/safe.ts';
import { object, oneOf, parseJson, required, type Shape, text, withFallback } from '../text/shape.ts';
import { type Project } from './project.ts';
import { loopOwner } from './state.ts';
import { controlFile } from './paths.ts';

/*
 * Another process asks a run to stop, pause or resume through this file. Anyone who can write to the project can ask,
 * including an agent, so a request carries nothing else: nothing in it becomes part of a prompt or of a command. Context
 * has its own record in the user's state folder.
 */

/** `stop` ends the agent as Ctrl-C does, and a second one kills it; `stop-after-iteration` lets it finish. */
const controlCommands = ['stop', 'stop-after-iteration', 'pause', 'resume'] as const;

export type ControlCommand = (typeof controlCommands)[number];

interface ControlRequest {
  readonly v: 1;
  /** The id of the lock that the run holds: a request that comes too late reaches no later run. */
  readonly to: string;
  readonly command: ControlCommand;
  readonly at: string;
}

/** Asks the run of a change to do something. It does so within a second; nothing is waited for. */
export const requestControl = (project: Project, change: string, command: ControlCommand): 'sent' | 'not-running' => {
  const owner = loopOwner(project, change);
  if (owner === null) return 'not-running';
  const request: ControlRequest = { v: 1, to: owner.id, command, at: new Date().toISOString() };
  const file = openSafely(controlFile(project, change), 'append');
  try {
    // In one write. The first line end closes a line that was left open.
    writeAll(file, `\n${JSON.stringify(request)}\n`);
  } finally {
    closeSync(file);
  }
  return 'sent';
};

export interface ControlWatch {
  dispose(): void;
}

interface ControlListener {
  readonly onRequest: (command: ControlCommand) => void;
  /** Called once, with the reason why the file cannot be read. */
  readonly onProblem: (problem: string) => void;
}

const pollMs = 250;
/** Bytes that are read at a time: requests are short. */
const maxRead = 64 * 1024;

/** Listens for requests to the run that holds the lock of the change now. */
export const watchControl = (project: Project, change: string, listener: ControlListener): ControlWatch => {
  const path = controlFile(project, change);
  const to = loopOwner(project, change)?.id ?? null;
  let position = 0;
  let isReported = false;
  const look = (): void => {
    const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size < position) position = 0;
    if (size === position) return;
    const found = readRequests(path, Math.max(position, size - maxRead));
    position = found.end;
    for (const request of found.requests) if (request.to === to) listener.onRequest(request.command);
  };
  const timer = setInterval(() => {
    try {
      look();
    } catch (error) {
      if (!isReported)
        listener.onProblem(error instanceof UserError ? error.message : `${path}: ${systemProblem(error)}`);
      isReported = true;
    }
  }, pollMs).unref();
  return {
    dispose: () => {
      clearInterval(timer);
      try {
        removeSafely(path);
      } catch {
        // The folder is gone, or is not one that Spool writes to.
      }
    },
  };
};

const newline = 0x0a;

/** The requests in whole lines from a byte on, and where the last of these lines ends. */
const readRequests = (path: string, from: number): { readonly requests: ControlRequest[]; readonly end: number } => {
  const file = openSafely(path, 'read');
  try {
    const bytes = Buffer.alloc(Math.min(maxRead, Math.max(0, fstatSync(file).size - from)));
    const read = bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
    const length = read.lastIndexOf(newline) + 1;
    const lines = read.subarray(0, length).toString('utf8').split('\n');
    const requests = lines.map((line) => controlRequest(parseJson(line))).filter((request) => request !== undefined);
    // A line that fills the whole buffer is not a request.
    return { requests, end: from + (length === 0 && read.length === maxRead ? maxRead : length) };
  } finally {
    closeSync(file);
  }
};

const controlRequest: Shape<ControlRequest> = object<ControlRequest>({
  v: required(oneOf([1])),
  to: required(text),
  command: required(oneOf(controlCommands)),
  at: withFallback('', text),
});
