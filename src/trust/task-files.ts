import { ownSource, pathInOwnSource } from '../config/own-commands.ts';
import { activeChanges, changeOf } from '../changes/sources.ts';
import type { Change } from '../changes/source.ts';
import type { Config } from '../config/file.ts';
import { prefixFor } from '../config/resolve.ts';
import type { Project } from '../store/project.ts';
import { hashOfAll, type Setting, settingsOf } from './settings.ts';
import type { Trusted } from './store.ts';

/** The verify commands of a task file, with the files that they name. */
export interface TaskFileSettings {
  /** Relative to the project. */
  readonly path: string;
  readonly settings: readonly Setting[];
  /** The hash of everything that a run of the file uses; null if the file has no such commands now. */
  readonly pin: string | null;
}

interface TaskFilesRequest {
  readonly project: Project;
  readonly config: Config;
  readonly trusted: readonly Trusted[];
}

/** Returns the task files with commands that were run before, or that the user trusts. */
export const taskFileSettings = async (request: TaskFilesRequest): Promise<TaskFileSettings[]> => {
  const { project, config, trusted } = request;
  const run = (await activeChanges(project)).flatMap(({ change }) =>
    change !== null && isTaskFile(change) && isUsed(config, change) ? [change.tasksFile] : [],
  );
  const known = trusted.flatMap(({ source }) => pathInOwnSource(source) ?? []);
  const paths = [...new Set([...run, ...known])].toSorted();
  return Promise.all(paths.map((path) => settingsOfFile(path, request)));
};

const isTaskFile = ({ source }: Change): boolean => source.startsWith('file:');

/** Commands in config.json are used instead. */
const isUsed = ({ values, changes }: Config, { id }: Change): boolean =>
  values.verify === undefined && changes.get(prefixFor(changes, id) ?? '')?.values.verify === undefined;

const settingsOfFile = async (
  path: string,
  { project, config, trusted }: TaskFilesRequest,
): Promise<TaskFileSettings> => {
  const { id, verify } = await changeOf(project, path, `file:${path}`);
  if (verify.length === 0) {
    const last = trusted.findLast(({ source }) => source === ownSource(path));
    return { path, settings: last === undefined ? [] : [{ ...last, files: [], unclear: [] }], pin: null };
  }
  const all = settingsOf(project, {
    ...config,
    ownVerify: new Map([[id, { source: ownSource(path), commands: verify }]]),
  });
  const others = new Set(settingsOf(project, config).map(({ source }) => source));
  return { path, settings: all.filter(({ source }) => !others.has(source)), pin: hashOfAll(all) };
};
