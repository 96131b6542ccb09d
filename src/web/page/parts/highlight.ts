/** A piece of a line of code. `kind` names its color. */
export interface Token {
  readonly text: string;
  readonly kind: 'comment' | 'string' | 'number' | 'keyword' | 'name' | null;
}

interface Language {
  /** One group for each kind, in the order of `kinds`. */
  readonly pattern: RegExp;
  readonly keywords: ReadonlySet<string>;
}

const kinds = ['comment', 'string', 'number', 'name'] as const;

const strings = String.raw`"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?`;
const backticks = String.raw`\`(?:[^\`\\]|\\.)*\`?`;
const numbers = String.raw`\b0[xX][\da-fA-F_]+\b|\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b`;
const words = String.raw`[A-Za-z_$][\w$]*`;

const language = (parts: readonly string[], keywords: string): Language => ({
  pattern: new RegExp(parts.map((part) => `(${part})`).join('|'), 'g'),
  keywords: new Set(keywords.split(' ')),
});

const script = language(
  [String.raw`\/\/.*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|^\s*\*(?:\s.*|\/.*|$)`, `${strings}|${backticks}`, numbers, words],
  'abstract as async await break case catch class const continue debugger default delete do else enum export extends ' +
    'false finally for from function get if implements import in instanceof interface let new null of private ' +
    'protected public readonly return satisfies set static super switch this throw true try type typeof undefined var ' +
    'void while yield package func go defer chan map range select struct fn impl match mod mut pub ref self trait use ' +
    'where loop move dyn int long short float double boolean bool char byte string final throws synchronized override ' +
    'unsigned signed const auto using namespace template include define ifdef ifndef endif val fun when object internal',
);
const hash = language(
  [String.raw`#.*`, `"""[^]*?(?:"""|$)|${strings}`, numbers, words],
  'and as assert async await break class continue def del elif else except False finally for from global if import in ' +
    'is lambda None nonlocal not or pass raise return True try while with yield self then fi do done case esac function ' +
    'local export end begin module require unless rescue nil true false null yes no on off echo exit set',
);
const data = language([String.raw`\/\/.*`, strings, numbers, words], 'true false null');
const markup = language(
  [String.raw`<!--(?:[^-]|-(?!->))*(?:-->)?`, strings, String.raw`&[#\w]+;`, String.raw`<\/?[\w:-]+|\/?>`],
  '',
);
const style = language(
  [
    String.raw`\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?`,
    strings,
    String.raw`#[\da-fA-F]{3,8}\b|\b\d+(?:\.\d+)?[a-z%]*`,
    String.raw`(?<![\w-])(?:--[\w-]+|@[\w-]+|[\w-]+(?=\s*:))`,
  ],
  '',
);
const query = language(
  [String.raw`--.*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?`, strings, numbers, words],
  'select from where insert update delete into values create table alter drop index join left right inner outer on as ' +
    'and or not null is in order by group having limit offset union all distinct primary key references default begin ' +
    'commit rollback SELECT FROM WHERE INSERT UPDATE DELETE INTO VALUES CREATE TABLE ALTER DROP INDEX JOIN LEFT RIGHT ' +
    'INNER OUTER ON AS AND OR NOT NULL IS IN ORDER BY GROUP HAVING LIMIT OFFSET UNION ALL DISTINCT PRIMARY KEY ' +
    'REFERENCES DEFAULT BEGIN COMMIT ROLLBACK',
);

const groups: readonly (readonly [Language, string])[] = [
  [
    script,
    'js jsx ts tsx mjs cjs mts cts javascript typescript java kt kotlin c h cc cpp hpp cs go rs rust swift scala dart php proto gradle',
  ],
  [
    hash,
    'py python rb ruby sh bash zsh fish shell console yml yaml toml ini conf cfg env dockerfile makefile mk pl r ex exs nix tf properties',
  ],
  [data, 'json jsonc json5 jsonl'],
  [markup, 'html htm xml svg vue svelte'],
  [style, 'css scss less'],
  [query, 'sql'],
];

const byName = new Map(groups.flatMap(([known, names]) => names.split(' ').map((name) => [name, known] as const)));

/** `src/a.ts`, `Makefile`, or the name of a language. */
export const languageOf = (path: string): Language | null => {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return byName.get(name.slice(name.lastIndexOf('.') + 1)) ?? null;
};

/** A longer line is data, not code. */
const maxLine = 2000;

/** Splits a line into colored pieces. Each line stands alone, as a diff has only parts of a file. */
export const highlight = (line: string, known: Language | null): readonly Token[] => {
  if (known === null || line.length > maxLine) return [{ text: line, kind: null }];
  const tokens: Token[] = [];
  let plainFrom = 0;
  for (const match of line.matchAll(known.pattern)) {
    const kind = kinds.find((_, index) => match[index + 1] !== undefined) ?? 'name';
    const shown = kind === 'name' ? kindOfWord(match[0], line[match.index + match[0].length], known) : kind;
    if (shown === null) continue;
    if (match.index > plainFrom) tokens.push({ text: line.slice(plainFrom, match.index), kind: null });
    tokens.push({ text: match[0], kind: shown });
    plainFrom = match.index + match[0].length;
  }
  if (plainFrom < line.length) tokens.push({ text: line.slice(plainFrom), kind: null });
  return tokens;
};

/** Words of a language with keywords are plain, unless they are called. */
const kindOfWord = (word: string, next: string | undefined, { keywords }: Language): Token['kind'] => {
  if (keywords.size <= 1) return 'name';
  if (keywords.has(word)) return 'keyword';
  return next === '(' ? 'name' : null;
};
