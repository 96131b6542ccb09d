/** Where a source file declares a test or a suite. */
export interface Declaration {
  readonly kind: 'test' | 'suite';
  /** As in the source. Parts that are computed are `${}`. */
  readonly title: string;
  /** Whether the title is the name of a function or class, to which runners add prefixes. */
  readonly isName: boolean;
  /** Whether it does not run: `it.skip`, `it.todo`. Not every runner reports it as such. */
  readonly inactive: 'skipped' | 'todo' | null;
  /** Offsets in the text: where it begins, and where its title ends. */
  readonly start: number;
  readonly end: number;
  /** The number of blanks before it. */
  readonly indent: number;
}

/** The tests and suites that a source file declares, in order. Nothing is parsed: this is what runners' calls look like. */
export const declarationsIn = (path: string, text: string): Declaration[] => {
  const extension = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return (readers[extension] ?? calls)(text).toSorted((a, b) => a.start - b.start);
};

/** Characters of a title. */
const maxTitle = 1000;

const isComment = (before: string): boolean => /^\s*(?:\/\/|\*|\/\*|#|--|;)/.test(before);

interface Place {
  readonly indent: number;
  readonly isComment: boolean;
}

/** Returns what is before an offset on its line. Must be called from left to right. */
const createPlaces = (text: string) => {
  let line = 0;
  let end = text.indexOf('\n');
  return (at: number): Place => {
    while (end !== -1 && end < at) [line, end] = [end + 1, text.indexOf('\n', end + 1)];
    const before = text.slice(line, Math.min(at, line + maxTitle));
    return { indent: before.length - before.trimStart().length, isComment: isComment(before) };
  };
};

const suites = /^(?:[fx]?describe|[fx]?context|suite|feature)$/;

/** Calls with the title as their first argument: `it('…')`, `test.each(…)('…')`, `t.Run("…")`, and `it '…' do`. */
const calls = (text: string): Declaration[] => {
  const placeOf = createPlaces(text);
  const afterTable = createTableEnds(text);
  return [...text.matchAll(call)].flatMap(({ 0: found, 1: name, 2: more = '', index }) => {
    const start = index + found.length - found.trimStart().length;
    const place = placeOf(start);
    if (place.isComment) return [];
    const open = index + found.length - 1;
    const quoteAt = /\.(?:each|for)\b/.test(more) ? afterTable(open) : quoteFrom(text, open);
    const literal = quoteAt === null ? null : literalAt(text, quoteAt);
    if (literal === null) return [];
    const inactive = /\.todo\b/.test(more) ? 'todo' : /\.skip\b/.test(more) || name!.startsWith('x') ? 'skipped' : null;
    const kind = suites.test(name!) ? 'suite' : 'test';
    return [{ kind, ...literal, isName: false, inactive, start, indent: place.indent }];
  });
};

const call =
  /(?:^|[^\w.$@'"`]|[^\w]t\.|[^\w]tap\.)([fx]?describe|[fx]?context|suite|feature|[fx]?it|test|specify|scenario|Run)((?:\.\w+){0,4})[ \t]{0,8}[(`'"]/gm;

/** The position of the quote that begins the first argument; null if it is something else. */
const quoteFrom = (text: string, open: number): number | null => {
  const from = text[open] === '(' ? open + 1 : open;
  const blanks = /^\s{0,200}/.exec(text.slice(from, from + 200))![0].length;
  return /['"`]/.test(text[from + blanks] ?? '') ? from + blanks : null;
};

/** How far the table of a test may reach. */
const maxTable = 20_000;

/** Returns the position of the title behind a table: `.each([…])('title'`. Must be called from left to right. */
const createTableEnds = (text: string) => {
  const ends =
    text.includes('each') || text.includes('.for') ? [...text.matchAll(/[)`]\s{0,20}\(\s{0,200}(?=['"`])/g)] : [];
  let next = 0;
  return (open: number): number | null => {
    while (next < ends.length && ends[next]!.index < open) next++;
    const end = ends[next];
    return end === undefined || end.index - open > maxTable ? null : end.index + end[0].length;
  };
};

const literalAt = (text: string, at: number): Pick<Declaration, 'title' | 'end'> | null => {
  const quote = text[at]!;
  let title = '';
  for (let index = at + 1; index < text.length && index - at <= maxTitle; index++) {
    const char = text[index]!;
    if (char === quote) {
      const isJoined = /^\s{0,20}\+/.test(text.slice(index + 1, index + 22));
      return { title: isJoined ? `${title}\${}` : title, end: index };
    }
    if (char === '\n' && quote !== '`') return null;
    if (char === '\\') {
      index++;
      title += escapes[text[index] ?? ''] ?? text[index] ?? '';
    } else title += char;
  }
  return null;
};

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

/** Declarations of functions and classes, whose name is the title. `mark` is what has to be above one, unless the name says it. */
const named =
  (rules: readonly { readonly kind: Declaration['kind']; readonly pattern: RegExp; readonly mark?: RegExp }[]) =>
  (text: string): Declaration[] => {
    const found: Declaration[] = [];
    let offset = 0;
    let isMarked = false;
    for (const line of text.split('\n')) {
      const shown = line.slice(0, maxTitle);
      for (const { kind, pattern, mark } of isComment(shown) && !/^\s*#\[/.test(shown) ? [] : rules) {
        if (mark?.test(shown)) isMarked = true;
        const [, name] = pattern.exec(shown) ?? [];
        if (name === undefined) continue;
        const title = name.replaceAll('`', '');
        const indent = shown.length - shown.trimStart().length;
        if (mark === undefined || isMarked || /^test/i.test(title))
          found.push({
            kind,
            title,
            isName: true,
            inactive: null,
            start: offset + indent,
            end: offset + shown.length,
            indent,
          });
        if (mark !== undefined) isMarked = false;
      }
      offset += line.length + 1;
    }
    return found;
  };

const python = named([
  { kind: 'test', pattern: /^\s*(?:async\s+)?def\s+(test\w*)\s*\(/ },
  { kind: 'suite', pattern: /^\s*class\s+(Test\w*|\w+Tests?)\s*[(:]/ },
]);

const go = (text: string) => [...named([{ kind: 'test', pattern: /^func\s+(Test\w*)\s*\(/ }])(text), ...calls(text)];

const rust = named([
  {
    kind: 'test',
    pattern: /^\s*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)/,
    mark: /#\[(?:\w+::)?(?:test|rstest|tokio_test|test_case|proptest)\b/,
  },
]);

const classes = named([
  {
    kind: 'test',
    pattern: /\b(?:void|fun|func|function|Task)\s+(`[^`]+`|\w+)\s*\(/,
    mark: /^\s*(?:@(?:Test|ParameterizedTest|RepeatedTest|Property)\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b|#\[Test\b)/,
  },
  { kind: 'suite', pattern: /\bclass\s+(\w*Tests?|Test\w*|\w+Spec)\b/ },
]);

/** A file may have both: Kotlin, Groovy, PHP and Swift have runners with calls. */
const both = (text: string) => [...classes(text), ...calls(text)];
const rubyLike = (text: string) => [
  ...named([{ kind: 'test', pattern: /^\s*def\s+(test_\w+)/ }])(text),
  ...calls(text),
];
const bats = (text: string) =>
  [...text.matchAll(/^@test[ \t]{1,8}(?=['"])/gm)].flatMap(({ 0: found, index }) => {
    const literal = literalAt(text, index + found.length);
    return literal === null
      ? []
      : [{ kind: 'test' as const, ...literal, isName: false, inactive: null, start: index, indent: 0 }];
  });

const readers: Readonly<Record<string, (text: string) => Declaration[]>> = {
  py: python,
  go,
  rs: rust,
  java: classes,
  cs: classes,
  kt: both,
  kts: both,
  groovy: both,
  scala: both,
  php: both,
  swift: both,
  rb: rubyLike,
  bats,
};
