import { createClosing, createFenceEnds, fenceAt, linesOf } from './tasks/visible-lines.ts';

/*
 * What a reader of a rendered text sees of it. The author of an issue can hide text from readers that an agent would get.
 */

/**
 * Without comments, instructions and declarations, which may begin and end in any line, and without link definitions and
 * footnotes that nothing uses. Code is not changed.
 */
export const visibleTextOf = (markdown: string): string =>
  withoutDefinitions(shownLines(linesOf(markdown)))
    .map(({ line }) => line)
    .join('\n');

interface Shown {
  readonly line: string;
  readonly isCode: boolean;
}

/** How something that is not rendered begins, and how it ends. */
const ends: Readonly<Record<string, string>> = { '<!--': '-->', '<?': '?>', '<![CDATA[': ']]>', '<!': '>' };
const openers = /`+|<!--|<\?|<!\[CDATA\[|<!(?=[A-Za-z])/g;

const shownLines = (lines: readonly string[]): Shown[] => {
  const fences = lines.map(fenceAt);
  const endOfFence = createFenceEnds(fences);
  const lastWith = new Map(Object.values(ends).map((end) => [end, lines.findLastIndex((line) => line.includes(end))]));
  const shown: Shown[] = [];
  let hiddenUntil: string | null = null;
  let isHtml = false;
  for (let index = 0; index < lines.length; index++) {
    let line = lines[index]!;
    if (hiddenUntil !== null) {
      const stop = line.indexOf(hiddenUntil);
      if (stop === -1) continue;
      line = line.slice(stop + hiddenUntil.length);
      hiddenUntil = null;
    } else {
      const isFirst = index === 0 || lines[index - 1]!.trim() === '';
      // Up to the next blank line, HTML has no code.
      if (isFirst) isHtml = /^[\s>]*<[a-z/!?]/i.test(line);
      const fence = isHtml ? null : fences[index]!;
      const end = fence ? endOfFence(fence, index) : index;
      if (end > index) {
        shown.push(...lines.slice(index, end + 1).map((code) => ({ line: code, isCode: true })));
        index = end;
        continue;
      }
    }
    const found = shownPart(line, (end) => lastWith.get(end)! > index);
    shown.push({ line: found.text, isCode: false });
    ({ hiddenUntil } = found);
  }
  return shown;
};

interface ShownPart {
  readonly text: string;
  /** The end of what begins in this line and continues in the next; null if nothing does. */
  readonly hiddenUntil: string | null;
}

/** `isLater` tells whether a later line has an end. */
const shownPart = (line: string, isLater: (end: string) => boolean): ShownPart => {
  const closing = createClosing(line);
  const start = /^(?:[\s>]|[-*+]\s|\d{1,9}[.)]\s)*/.exec(line)![0].length;
  const missing = new Set<string>();
  let text = '';
  let at = 0;
  for (const { 0: opener, index } of line.matchAll(openers)) {
    if (index < at) continue;
    const end = ends[opener];
    if (end === undefined) {
      const code = closing(opener.length, index);
      const upTo = (code === -1 ? index : code) + opener.length;
      text += line.slice(at, upTo);
      at = upTo;
      continue;
    }
    // `<!-->` is a whole comment.
    const stop = missing.has(end) ? -1 : line.indexOf(end, opener === '<!--' ? index + 2 : index + opener.length);
    if (stop !== -1) {
      text += line.slice(at, index);
      at = stop + end.length;
      continue;
    }
    // Without an end, it hides the rest of the text if it begins a line, and is a text itself otherwise.
    if (isLater(end) || index === start) return { text: text + line.slice(at, index), hiddenUntil: end };
    missing.add(end);
  }
  return { text: text + line.slice(at), hiddenUntil: null };
};

const definition = /^[\s>]*(?:[-*+]\s+)?\[([^[\]]+)\]:\s*(\S*)(.*)$/s;
const titleEnds: Readonly<Record<string, string>> = { '"': '"', "'": "'", '(': ')' };

/** `[//]: # (text)` shows nothing. A definition that a link uses keeps its address. */
const withoutDefinitions = (lines: readonly Shown[]): Shown[] => {
  const used = new Set(
    lines.flatMap(({ line }) =>
      definition.test(line) ? [] : [...line.matchAll(/\[([^[\]]+)\]/g)].map(([, label]) => label!.toLowerCase()),
    ),
  );
  const shown: Shown[] = [];
  for (let index = 0; index < lines.length; index++) {
    const { line, isCode } = lines[index]!;
    const found = isCode ? null : definition.exec(line);
    if (!found) {
      shown.push(lines[index]!);
      continue;
    }
    const [, label = '', address = '', rest = ''] = found;
    const isUsed = used.has(label.toLowerCase());
    const isNote = label.startsWith('^');
    const title = rest.trim();
    // Words after the address, which are no title: it is a text.
    if (isNote ? isUsed : title !== '' && titleEnds[title[0]!] === undefined) shown.push(lines[index]!);
    else {
      if (isUsed) shown.push({ line: line.slice(0, line.length - rest.length), isCode });
      if (!isNote) index += linesOfTitle(lines, index, { title, hasAddress: address !== '' });
    }
  }
  return shown;
};

/** The number of lines below a definition that belong to it: its address, and its title. */
const linesOfTitle = (
  lines: readonly Shown[],
  index: number,
  { title, hasAddress }: { readonly title: string; readonly hasAddress: boolean },
): number => {
  const below = (count: number) => lines[index + count]?.line.replace(/^[\s>]+/, '').trimEnd() ?? '';
  const skipped = hasAddress ? 0 : 1;
  const first = title === '' ? (hasAddress ? below(1) : below(1).replace(/^\S+\s*/, '')) : title;
  const from = title === '' && hasAddress ? 1 : skipped;
  const end = titleEnds[first[0] ?? ''];
  if (end === undefined) return skipped;
  if (first.slice(1).includes(end)) return first.endsWith(end) ? from : skipped;
  for (let count = from + 1; below(count) !== ''; count++) if (below(count).includes(end)) return count;
  return skipped;
};
