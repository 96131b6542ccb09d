import { join } from 'node:path';
import { displayPath } from '../files/bytes.ts';
import { userFolder } from '../files/home.ts';
import { createFolder, entriesOf } from '../files/folders.ts';
import { readSafely, removeSafely, replaceSafely } from '../files/safe.ts';
import { systemProblem } from '../errors.ts';
import { refuseGit } from '../git/call/blocked.ts';
import { processStart } from '../process/start-time.ts';
import {
  count,
  listOf,
  object,
  orNull,
  pairOf,
  parseJson,
  required,
  type Shape,
  text,
  withDefault,
} from '../text/shape.ts';
import { commandLine } from '../text/shell-words.ts';
import type { LinkArea } from './links.ts';
import { type AbsentPath, quarantinePlanted } from './planted.ts';
import { areAllRemoved, type KnownLinks, type PlantedLink, removeNewLinks } from './planted-links.ts';

/**
 * Paths and links that must not be created while a process is in the sandbox. Written for the next Spool, in case this
 * one is killed before it checks them, or cannot remove them.
 */
interface Forbidden {
  readonly pid: number;
  /** The start of that process, or a word that no process has. */
  readonly start: string | null;
  readonly absent: readonly AbsentPath[];
  /** The only links that may exist; null without git. */
  readonly links: SavedLinks | null;
}

interface SavedLinks {
  readonly area: LinkArea;
  /** Paths and targets. */
  readonly known: readonly (readonly [string, string])[];
}

export interface SavedForbidden {
  /** Call when everything was checked and nothing is left. */
  forget(): void;
  /** Call when something is left: from now on, every Spool checks again. */
  handOver(): void;
}

export const saveForbidden = (
  env: NodeJS.ProcessEnv,
  { absent, known }: { absent: readonly AbsentPath[]; known: KnownLinks | null },
): SavedForbidden => {
  const folder = folderOf(env);
  const file = join(folder, `${crypto.randomUUID()}.json`);
  const links = known && { area: known.area, known: [...known.links] };
  const forbidden: Forbidden = { pid: process.pid, start: processStart(process.pid), absent, links };
  createFolder(folder);
  replaceSafely(file, JSON.stringify(forbidden));
  return {
    forget: () => removeSafely(file),
    handOver: () => replaceSafely(file, JSON.stringify({ ...forbidden, start: 'ended' })),
  };
};

/**
 * Moves away protected paths and removes links that were created in sandboxes whose Spool was killed. Returns a line
 * for each, and for each unreadable file, as after a full disk. git is not run where a link may be left.
 */
export const quarantineLeftovers = (env: NodeJS.ProcessEnv): string[] => {
  const folder = folderOf(env);
  return attempt(folder, () => entriesOf(folder).filter(({ name }) => name.endsWith('.json'))).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : attempt(join(folder, entry.name), quarantine),
  );
};

const folderOf = (env: NodeJS.ProcessEnv): string => join(userFolder(env), 'sandbox');

const quarantine = (file: string): string[] => {
  const content = readSafely(file)?.toString('utf8');
  // Another Spool has just handled it.
  if (content === undefined) return [];
  const forbidden = forbiddenShape(parseJson(content));
  if (forbidden === undefined) return [failed(file, 'the file is damaged')];
  if (processStart(forbidden.pid) === forbidden.start) return [];
  const { moved, left } = quarantinePlanted(forbidden.absent);
  const links = forbidden.links === null ? { lines: [], areGone: true } : removeLinks(forbidden.links);
  if (left.length === 0 && links.areGone) removeSafely(file);
  return [...moved, ...links.lines, ...left.map(({ path, why }) => failed(file, `${path}: ${why}`))];
};

const forbiddenShape: Shape<Forbidden> = object<Forbidden>({
  pid: required(count),
  start: required(orNull(text)),
  absent: required(listOf(object<AbsentPath>({ path: required(text), way: required(listOf(text)) }))),
  links: withDefault(
    null,
    orNull(
      object<SavedLinks>({
        area: required(
          object<LinkArea>({
            folders: required(listOf(text)),
            objects: required(text),
            writable: required(listOf(text)),
          }),
        ),
        known: required(listOf(pairOf(text, text))),
      }),
    ),
  ),
});

const removeLinks = ({ area, known }: SavedLinks): { lines: string[]; areGone: boolean } => {
  const removed = removeNewLinks({ area, links: new Map(known) }, () => {});
  const { planted, unsearched } = removed;
  const left = [
    ...unsearched.map(([path, why]) => `${path} cannot be searched for links (${why}): delete it or make it readable`),
    ...planted.flatMap(({ path, problem }) =>
      problem === null ? [] : [`${path} is a link from a sandbox and cannot be removed (${problem}): delete it`],
    ),
  ];
  const [first] = left;
  if (first !== undefined) refuseGit(area.folders.map(displayPath), first);
  const lines = [
    ...left.map((line) => `${line}. git is not used there until then.`),
    ...planted.filter(({ problem }) => problem === null).map(lineAbout),
  ];
  const more = lines.length - maxLines;
  return {
    lines: more > 0 ? [...lines.slice(0, maxLines), `(and ${more} more)`] : lines,
    areGone: areAllRemoved(removed),
  };
};

const maxLines = 20;

const lineAbout = ({ path, target, before }: PlantedLink): string => {
  const back = commandLine('ln', before === null ? '-s' : '-sfn', target, path);
  const now = before === null ? 'It was removed.' : `It leads to ${before} again.`;
  return `${path} was a link to ${target}, created in the sandbox of an earlier run. ${now} If it is your own: ${back}`;
};

/** Returns a line instead of throwing: no command may fail because of leftovers of another one. */
const attempt = <Result>(path: string, work: (path: string) => Result[]): (Result | string)[] => {
  try {
    return work(path);
  } catch (error) {
    return [failed(path, systemProblem(error))];
  }
};

const failed = (path: string, why: string): string =>
  `Cannot clean up after a sandbox that was killed (${why}). Look for new .git folders, hooks, settings and links in the project, then delete ${path}.`;
