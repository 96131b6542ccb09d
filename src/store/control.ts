import { closeSync, fstatSync, lstatSync, readSync } from 'node:fs';
import { systemProblem, UserError } from '../errors.ts';
import { currentEnvironment } from '../files/environment.ts';
import { openSafely, removeSafely, writeAll } from '../files/safe.ts';
import { type ControlCommand, controlCommands } from '../ralph/control.ts';
import { boolean, object, oneOf, parseJson, required, type Shape, text, withFallback } from '../text/shape.ts';
import { type Project } from './project.ts';
import { loopOwner } from './state.ts';
import { controlFile, requestsFile } from './paths.ts';
import { userStateFolder } from './user-state/folder.ts';
import { appendLine } from './user-state/lines.ts';

/*
 * Another process asks a run to stop, pause or resume through this file. Anyone who can write to the project can ask,
 * including an agent, so a request carries nothing else: nothing in it becomes part of a prompt or of a command. Every
 * request is also in the user's state folder, where an agent can neither forge nor hide one. The file in the project is
 * for runs on other machines and in containers.
 */

interface ControlRequest {
  readonly v: 1;
  /** The id of the lock that the run holds: a request that comes too late reaches no later run. */
  readonly to: string;
  readonly command: ControlCommand;
  readonly at: string;
  /** Each request counts once, wherever it is read. */
  readonly id: string;
  /** It also applies to the runs that the same process has not started yet. */
  readonly wholeBatch: boolean;
}

export interface RequestOptions {
  /** Says where the user's state folder is. Defaults to the current environment. */
  readonly env?: NodeJS.ProcessEnv;
  readonly wholeBatch?: boolean;
  /** Identifies the request. */
  readonly id?: string;
}

/** Asks the run of a change to do something. The run reacts within a second. Does not wait for it. */
export const requestControl = (
  project: Project,
  change: string,
  command: ControlCommand,
  { env = currentEnvironment(), wholeBatch = false, id = crypto.randomUUID() }: RequestOptions = {},
): 'sent' | 'not-running' => {
  const owner = loopOwner(project, change);
  if (owner === null) return 'not-running';
  const request: ControlRequest = { v: 1, to: owner.id, command, at: new Date().toISOString(), id, wholeBatch };
  // In one write. The leading newline ends a line that was cut off.
  const line = `\n${JSON.stringify(request)}\n`;
  // First, because the run must not take it for the request of an agent.
  try {
    appendLine(requestsFile(userStateFolder(project, change, env)), line);
  } catch (error) {
    if (command === 'resume') throw error;
  }
  const file = openSafely(controlFile(project, change), 'append');
  try {
    writeAll(file, line);
  } finally {
    closeSync(file);
  }
  return 'sent';
};

export interface ControlWatch {
  /** Takes the requests that were sent until now. */
  look(): void;
  dispose(): void;
}

export interface ReceivedRequest extends Pick<ControlRequest, 'command' | 'wholeBatch' | 'id'> {
  /** It is in the user's state folder, so no agent in a sandbox has sent it. */
  readonly isPersonal: boolean;
}

interface ControlledChange {
  readonly project: Project;
  readonly change: string;
  /** Says where the user's state folder is. */
  readonly env: NodeJS.ProcessEnv;
}

interface ControlListener {
  readonly onRequest: (request: ReceivedRequest) => void;
  /** Called once, with the reason why the file cannot be read. */
  readonly onProblem: (problem: string) => void;
}

const pollMs = 250;
/** The number of bytes read at a time. Requests are short. */
const maxRead = 64 * 1024;

/** Listens for requests to the run that holds the lock of the change now. */
export const watchControl = ({ project, change, env }: ControlledChange, listener: ControlListener): ControlWatch => {
  const path = controlFile(project, change);
  const to = loopOwner(project, change)?.id ?? null;
  let isReported = false;
  const report = (file: string) => (error: unknown) => {
    if (!isReported)
      listener.onProblem(error instanceof UserError ? error.message : `${file}: ${systemProblem(error)}`);
    isReported = true;
  };
  const personalPath = requestsFile(userStateFolder(project, change, env));
  const readShared = createReader(path, report(path));
  const readPersonal = createReader(personalPath, report(personalPath));
  /** The ids of personal requests. */
  const taken = new Set<string>();
  const take = (requests: readonly ControlRequest[], isPersonal: boolean): void => {
    for (const request of requests) {
      if (request.to !== to || taken.has(request.id)) continue;
      if (isPersonal) taken.add(request.id);
      listener.onRequest({ ...request, isPersonal });
    }
  };
  const look = (): void => {
    // Read first and taken last: a request in the project that is personal is then known to be.
    const shared = readShared();
    take(readPersonal(), true);
    take(shared, false);
  };
  const timer = setInterval(look, pollMs).unref();
  return {
    look,
    dispose: () => {
      clearInterval(timer);
      try {
        removeSafely(path);
      } catch {
        // The folder was deleted, or Spool must not write to it.
      }
    },
  };
};

/** Returns a function that returns the requests that were added to a file since the last call. */
const createReader = (path: string, onError: (error: unknown) => void): (() => readonly ControlRequest[]) => {
  let position = 0;
  return () => {
    try {
      const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (size < position) position = 0;
      if (size === position) return [];
      const found = readRequests(path, Math.max(position, size - maxRead));
      position = found.end;
      return found.requests;
    } catch (error) {
      onError(error);
      return [];
    }
  };
};

const newline = 0x0a;

/** Returns the requests in complete lines after an offset, and the end of the last of these lines. */
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
  id: withFallback('', text),
  wholeBatch: withFallback(false, boolean),
});
