import { missingTasks } from './missing.ts';
import { isBox, parseTasks, withoutMark } from './parse.ts';

export interface Versions {
  /** The common ancestor; null if it is not known. */
  readonly base: string | null;
  /** The user's. */
  readonly mine: string;
  /** The agent's. */
  readonly theirs: string;
}

/** Merges lines; returns null if both sides changed the same ones. */
export type MergeLines = (versions: { base: string; mine: string; theirs: string }) => Promise<string | null>;

/**
 * Merges two versions of a task file by task: a tick on one side and a new task in the next line on the other do not
 * conflict. Returns null on a conflict, which is when a task of one side would be lost.
 */
export const mergeTasks = async (versions: Versions, mergeLines: MergeLines): Promise<string | null> => {
  const { base, mine, theirs } = versions;
  const known = base === null ? null : read(base, null);
  const [user, agent] = [read(mine, known), read(theirs, known)];
  const texts = { base: (known ?? agent).plain, mine: user.plain, theirs: agent.plain };
  const merged = await mergePlain(texts, mergeLines);
  if (merged === null) return null;
  const added = missingTasks(titlesIn(agent.plain), known === null ? [] : titlesIn(known.plain));
  const isLost = (titles: readonly string[]) => missingTasks(titles, titlesIn(merged)).length > 0;
  if (isLost(titlesIn(user.plain)) || isLost(added)) return null;
  const ticked = tick(merged, { base: known?.lines ?? null, mine: user.lines, theirs: agent.lines });
  return ticked.replaceAll('\n', lineEndFor(versions));
};

/** Line endings are not part of a task. The side that changed them wins; if both did, the user. */
const lineEndFor = ({ base, mine, theirs }: Versions): string => {
  const [before, own, agents] = [lineEndOf(base ?? ''), lineEndOf(mine), lineEndOf(theirs)];
  return (own !== before ? own : null) ?? agents ?? before ?? '\n';
};

/** The ending of most lines; null for a text without line endings. */
const lineEndOf = (text: string): string | null => {
  const all = text.split('\n').length - 1;
  if (all === 0) return null;
  return (text.split('\r\n').length - 1) * 2 > all ? '\r\n' : '\n';
};

const mergePlain = async (
  texts: { base: string; mine: string; theirs: string },
  mergeLines: MergeLines,
): Promise<string | null> => {
  const { base, mine, theirs } = texts;
  if (theirs === base || theirs === mine) return mine;
  return mine === base ? theirs : mergeLines(texts);
};

/** A task file without its ticks, and the original lines of boxes and statuses by key. */
interface Ticked {
  readonly plain: string;
  readonly lines: ReadonlyMap<string, string>;
}

/** A note after a title does not make it another task: such a line gets the plain line from `known`. */
const read = (text: string, known: Ticked | null): Ticked => {
  const own = text.replaceAll('\r\n', '\n').split('\n');
  const present = new Set(own.map(plainLine));
  const before = new Set(known?.plain.split('\n'));
  const missing = [...before].filter((line) => isBox(line) && !present.has(line));
  const lines = new Map<string, string>();
  const keys = createKeys();
  const plain = own.map((line) => {
    const blank = plainLine(line);
    const noted = isBox(blank) && !before.has(blank) ? missing.findIndex((title) => isNoted(blank, title)) : -1;
    const found = noted === -1 ? blank : missing.splice(noted, 1)[0]!;
    const key = keys(found);
    if (key !== null) lines.set(key, line);
    return found;
  });
  return { plain: withLastLineEnd(plain.join('\n')), lines };
};

/** An editor may add or remove the line ending of the last line: that does not change the line. */
const withLastLineEnd = (text: string): string => (text === '' ? '' : text.replace(/(?<!\n)\n*$/, '\n'));

const isNoted = (line: string, title: string): boolean =>
  line.startsWith(title.trimEnd()) && !/^[\p{L}\p{N}_-]/u.test(line.slice(title.trimEnd().length));

const status = /^(.*\*\*Status:?\*\*:?\s*\[).\].*$/isu;

const plainLine = (line: string): string => withoutMark(line).replace(status, '$1 ]');

/** Distinguishes equal lines: by the heading above a status, and by how many came before. */
const createKeys = () => {
  const seen = new Map<string, number>();
  let heading = '';
  return (plain: string): string | null => {
    if (/^#{1,6}\s/.test(plain)) heading = plain;
    if (!isBox(plain) && !status.test(plain)) return null;
    const name = status.test(plain) ? `${heading}\n${plain}` : plain;
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    return `${name}\n${number}`;
  };
};

type Sides = Readonly<Record<'mine' | 'theirs', ReadonlyMap<string, string>>> & {
  readonly base: ReadonlyMap<string, string> | null;
};

const tick = (plain: string, sides: Sides): string => {
  const keys = createKeys();
  return plain
    .split('\n')
    .map((line) => {
      const key = keys(line);
      return key === null ? line : (lineOf(key, sides) ?? line);
    })
    .join('\n');
};

/** For the mark and for the text after it, the side that changed it since the base wins; if both did, the user. */
const lineOf = (key: string, { base, mine, theirs }: Sides): string | undefined => {
  const [before, own, agents] = [base?.get(key), mine.get(key), theirs.get(key)];
  if (own === undefined || agents === undefined) return own ?? agents;
  if (before === undefined) return stateOf(cut(agents).mark) === 'x' ? agents : own;
  const [first, user, agent] = [cut(before), cut(own), cut(agents)];
  const mark = stateOf(user.mark) === stateOf(first.mark) ? agent.mark : user.mark;
  const rest = user.rest === first.rest ? agent.rest : user.rest;
  return user.start + mark + rest;
};

/** Splits a line with a box or a status at its mark. */
const cut = (line: string): { start: string; mark: string; rest: string } => {
  const from = isBox(line) ? line.indexOf('[') : (status.exec(line)?.[1]?.length ?? 1) - 1;
  const to = line.indexOf(']', from) + 1;
  return { start: line.slice(0, from), mark: line.slice(from, to), rest: line.slice(to) };
};

/** `[]` equals `[ ]`, and `[X]` equals `[x]`. */
const stateOf = (mark: string): string => mark.slice(1, -1).trim().toLowerCase();

const titlesIn = (text: string): string[] => parseTasks(text).map(({ title }) => title);
