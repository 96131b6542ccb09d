import { type Declaration, declarationsIn } from './declarations.ts';
import { referencesIn } from './references.ts';

/** A test in a source file that names a scenario. */
export interface SourceLink {
  /** As written. */
  readonly id: string;
  /** Relative to the root, with `/`. */
  readonly file: string;
  readonly line: number;
  /** The test or suite that it is about; null for all tests of the file. */
  readonly test: Pick<Declaration, 'kind' | 'title' | 'isName' | 'inactive'> | null;
}

/**
 * The `@scenario` tags in the titles and comments of a source file. A tag in a comment belongs to the test that begins on
 * its line, or else to the next one; inside of a test, to this one. If no test follows, it belongs to the file.
 */
export const linksInSource = (file: string, text: string): SourceLink[] => {
  if (!text.includes('@scenario')) return [];
  const declarations = declarationsIn(file, text);
  let offset = 0;
  let next = 0;
  return text.split('\n').flatMap((content, index) => {
    const start = offset;
    offset += content.length + 1;
    const at = content.indexOf('@scenario');
    if (at === -1) return [];
    while (next < declarations.length && declarations[next]!.start < start) next++;
    const found = testAt({ declarations, next, start, at, content });
    if (found === undefined) return [];
    const test = found && { kind: found.kind, title: found.title, isName: found.isName, inactive: found.inactive };
    return referencesIn(content.slice(0, maxLine)).map((id) => ({ id, file, line: index + 1, test }));
  });
};

/** Characters. A longer line is generated. */
const maxLine = 10_000;

interface Tag {
  readonly declarations: readonly Declaration[];
  /** The index of the first declaration that begins on this line or later. */
  readonly next: number;
  /** The offset of the line, and of the tag in it. */
  readonly start: number;
  readonly at: number;
  readonly content: string;
}

/** Returns undefined for a tag that is neither in a comment nor in a title. */
const testAt = ({ declarations, next, start, at, content }: Tag): Declaration | null | undefined => {
  const previous = declarations[next - 1];
  // The title of a call may be on a separate line.
  if (previous !== undefined && previous.end >= start + at) return previous;
  const following = declarations[next];
  const isOnLine = following !== undefined && following.start < start + content.length;
  if (isOnLine && (following.end >= start + at || isCommentAt(content, at))) return following;
  if (!isCommentAt(content, at)) return undefined;
  const indent = content.length - content.trimStart().length;
  const isInside = previous !== undefined && previous.indent < indent && (following?.indent ?? 0) < indent;
  return isInside ? previous : (following ?? null);
};

/** Includes lines of block comments without a mark, and Python's docstrings. */
const isCommentAt = (content: string, at: number): boolean => {
  const before = content.slice(Math.max(at - maxLine, 0), at);
  return before.trim() === '' || /(?:^|\s|[;,{(])(?:\/\/|\/?\*|#|--|;|%|<!--|"""|''')/.test(before);
};
