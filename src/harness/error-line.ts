import type { AgentErrorKind } from '../ralph/agent-events.ts';

interface ErrorLine {
  readonly line: string;
  readonly kind: AgentErrorKind;
}

/**
 * Finds the last line in which an agent CLI says why it failed, and the kind of that error. Returns null if there is
 * none. The lines also contain the output of its tools: names of tests, code, diffs, and logs of the program it works
 * on. `own` means that the lines probably come from the CLI itself, unless they look like test output.
 */
export const findErrorLine = (lines: readonly string[], { own }: { own: boolean }): ErrorLine | null => {
  const words = lines.map(withoutDecoration);
  const believed = own && !words.some(isTestOutput);
  const at = words.findLastIndex((line) => kindOfLine(line, believed) !== null);
  return at === -1 ? null : { line: lines[at]!, kind: kindOfLine(words[at]!, believed)! };
};

const kindOfLine = (line: string, believed: boolean): AgentErrorKind | null => {
  if (isTestOutput(line) || isCode(line)) return null;
  const rest = line.replace(prefix, '');
  const unmistakable = unmistakables.find(([pattern]) => pattern.test(rest));
  if (unmistakable) return unmistakable[1];
  if (!believed) return null;
  const isError = rest !== line || status.test(line);
  return words.find(([pattern, first]) => pattern.test(unquoted(line)) && (isError || first?.test(rest)))?.[2] ?? null;
};

/** Removes colors and the timestamp of a logger. */
const withoutDecoration = (line: string): string =>
  line
    .replaceAll(color, '')
    .replace(/^\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]?\s*/, '')
    .trim();

const color = new RegExp(String.raw`${String.fromCharCode(27)}\[[\d;]*m`, 'g');

/** `Error: `, `ERROR codex_core: `, `[API Error: `, `litellm.RateLimitError: `. */
const prefix = /^\[?(?:[\w./-]+ ){0,3}?[\w.]*(?:error|fatal)\b(?: [\w:./-]+)?: ?/i;

/** The HTTP status of a provider, as opposed to any number. */
const status =
  /\b(?:http|status(?: code)?|error|code["']?)\W{0,3}(?:401|403|404|429)\b|\b(?:401 unauthorized|429 too many)/i;

const again = String.raw`(?:\bresets?\b|try again|retry|\|\d{10})`;

/** Beginnings of lines that only an agent CLI prints. */
const unmistakables: readonly (readonly [RegExp, AgentErrorKind])[] = [
  [/^(?:[\w.-]+ ){0,3}(?:usage|session|weekly|\d+-hour) limit (?:reached|exceeded|hit)/i, 'rate-limit'],
  [
    /^(?:sorry, )?you(?:['’]ve| have)? (?:hit|reached|exceeded) your (?:[\w-]+ )?(?:usage|session|weekly|\d+-hour) limit/i,
    'rate-limit',
  ],
  [
    new RegExp(
      String.raw`^(?:sorry, )?you(?:['’]ve| have)? (?:hit|reached|exceeded|exhausted) (?:your|an?|the) .{0,80}(?:limit|quota).*${again}`,
      'i',
    ),
    'rate-limit',
  ],
  [/^(?:not logged in|invalid api key)\b.*\/login|^please (?:run \/login|set an auth method)/i, 'auth'],
];

/** Patterns that count in a line marked as an error, and patterns that count in any line. */
const words: readonly (readonly [RegExp, RegExp | null, AgentErrorKind])[] = [
  [
    /rate.?limit|too many requests|(?:usage|session|weekly|spend(?:ing)?) limit|quota (?:exceeded|reached)|(?:exceeded|exhausted) .{0,40}quota|resource.?(?:has been )?exhausted|insufficient.quota|(?:status(?: code)?|http|code["']?)\W{0,3}429\b/i,
    new RegExp(
      String.raw`^rate limit (?:reached|exceeded)|^quota exceeded|^you(?:['’]ve| have)? (?:hit|reached|exceeded|exhausted) (?:your|an?|the) .{0,80}(?:limit|quota)|${again}`,
      'i',
    ),
    'rate-limit',
  ],
  [
    /\bauth method\b|not (?:logged|signed) in|no authentication|authentication (?:failed|required)|no api key|invalid api key|missing environment variable|\b401 unauthorized|^unauthorized/i,
    /^(?:you are )?not (?:logged|signed) in\b|^no (?:api key|authentication)\b|^missing environment variable\b|^(?:invalid api key|authentication (?:failed|required)|unauthorized)\b/i,
    'auth',
  ],
  [
    /model.?not.?found|unknown model|cannot find model|model .{0,60}(?:does not exist|not found)/i,
    /^(?:model not found|unknown model|cannot find model)\b/i,
    'model',
  ],
];

/**
 * Removes quotations, which mention an error rather than report one. JSON is kept: it is the response of a provider.
 */
const unquoted = (line: string): string =>
  /\{\s*"/.test(line) ? line : line.replaceAll(/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g, '');

/** Output of vitest, jest, mocha, TAP, pytest, go test or cargo test. */
const isTestOutput = (line: string): boolean => testLines.some((pattern) => pattern.test(line)) || compares(line);

/** "expected 1 to be 2", "Expected: 1, received: 2". */
const compares = (line: string): boolean => {
  const at = line.search(/\bexpected\b/i);
  return at !== -1 && /\b(?:to|but|got|received|actual)\b/i.test(line.slice(at));
};

const testLines: readonly RegExp[] = [
  /^[✓✔√✗✘×✕✖●○❯⎯]/,
  /^(?:not )?ok \d+\b|^# (?:subtest|tests|pass|fail)\b/i,
  /^(?:FAIL|PASS|FAILED|PASSED)\b|\b(?:FAILED|PASSED)(?:\s+\[\s*\d+%\])?$|^(?:---|===) (?:FAIL|PASS|RUN|SKIP)/,
  /^ERROR \S+\.py\b|^E {2,}|^=+ .+ =+$|^_{3,} .+ _{3,}$/,
  /^test .+ \.\.\. \w+|^test result:|^---- .+ ----$|^thread '.(?:(?!' ).)*' .*panicked|^error: test failed/,
  /^\d+\) |^\d+ (?:passing|failing|pending|passed|failed)\b|^(?:Tests?|Test Files|Test Suites|Suites):? +\d/,
  /\bexpect\(|^(?:\w+\.)*Assert\w*Error\b|^assert\b|^(?:expected|received|actual|left|right):/i,
  / › | > .+ > /,
];

/** Stack frames, code with and without a location, diffs, and errors of npm scripts. */
const isCode = (line: string): boolean => codeLines.some((pattern) => pattern.test(line));

const codeLines: readonly RegExp[] = [
  /^at .+[:(]|^File ".+", line \d+|^(?:\w:)?[\w@./\\-]+\.\w+:\d+(?::\d+)?\b/,
  /^>|^\d+ ?[|:]|^\|/,
  /^[+-](?=[\s+-]|\w)|^@@ /,
  /[;{]$|^(?:const|let|var|return|throw|import|export|def|func|class|if|for|it|test|describe)\b.*[(=]/,
  /^npm (?:ERR!|error)/i,
];
