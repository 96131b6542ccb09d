/**
 * Whether a line of plain output is one that many agent CLIs print after the agent's message: usage, duration, where
 * the session was saved. `prefixes` are those that the user has declared for the agent.
 */
export const isTrailer = (line: string, prefixes: readonly string[] = []): boolean => {
  const text = line.replace(leadingMarks, '').trim();
  if (prefixes.some((prefix) => line.trimStart().startsWith(prefix) || text.startsWith(prefix))) return true;
  if (text === '') return false;
  return text.length <= maxTrailerLength && (isStatistics(text) || notices.some((notice) => notice.test(text)));
};

const maxTrailerLength = 200;

/** Bullets, boxes and emoji. */
const leadingMarks = /^[^\p{L}\p{N}$€£~]+/u;

/** Only numbers, units and the words for what is counted. */
const isStatistics = (text: string): boolean => {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  return /\p{N}/u.test(text) && words.some((word) => counted.has(word)) && words.every((word) => known.has(word));
};

const counted = new Set(
  'token tokens cost costs usage duration time elapsed requests request credits price turns usd context cache cached calls'.split(
    ' ',
  ),
);

const known = new Set([
  ...counted,
  ...'total totals used in out input output sent received read write written reads writes reasoning thinking prompt'.split(
    ' ',
  ),
  ...'completion api wall session message messages est estimated premium and for model call tool tools per'.split(' '),
  ...'s ms m h d sec secs second seconds min mins minute minutes hour hours k b t window size spent'.split(' '),
]);

const notices: readonly RegExp[] = [
  /^tokens used:?$/i,
  /^(?:\d{1,3}(?:[.,]\d{3})+|[\d.]+[km])$/i,
  /^(?:done|completed?|finished|took|ran|worked|total)(?: in| for| after|:)? ~?[\d.,:]+ ?(?:ms|s|m|h|sec|secs|seconds?|min|mins|minutes?|hours?)\b[\d\s.hms]*$/i,
  /^(?:session|conversation|transcript|chat|thread|logs?|history|trace)(?: was| is| has been)? (?:saved|written|stored|recorded|logged|exported)(?: to| as| in| at)?:? (?:\S+|"[^"]+"|'[^']+')$/i,
  /^(?:saved|wrote|exported) (?:the )?(?:session|conversation|transcript|chat|thread|logs?|history|trace) (?:to|as|in|at) (?:\S+|"[^"]+"|'[^']+')$/i,
  /^(?:session|conversation|chat) (?:closed|ended|saved)\.?$/i,
  /^(?:closing|ending|saving)(?: the)? (?:session|conversation|chat)[.…]*(?: recorded to \S+)?$/i,
  /^(?:session|conversation|thread)(?:[ _-]?id)?\s*[:=]\s*(?=\S*\d)\S+$/i,
  /^(?:model|provider)\s*[:=]\s*(?=[\w.:/-]*[\d/-])[\w.:/-]+$/i,
  /^(?:to )?(?:resume|continue) (?:(?:this|the|your) )?(?:session|conversation|chat)(?:,? run|,? use| with| by running|:):? ["'`]?[\w./-]+(?: [\w./=-]+){0,8}["'`]?$/i,
  /^(?:to )?(?:resume|continue): [\w./-]+(?: [\w./=-]+){0,8}$/i,
  /^(?:good)?bye[.!]*$/i,
  /^(?:log|session|transcript|history|trace) ?(?:file|path)?: ["']?(?:~|\.{0,2})\/\S*$/i,
  /^commit [0-9a-f]{7,40}(?: (?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|tests?)(?:\([^)]*\))?!?: .+)?$/i,
  /^applied edit to \S+$/i,
  /^\d{1,3}% (?:of )?(?:the )?context (?:left|remaining|used)(?: until auto-compact)?$/i,
  /^total code changes: \d+ lines? added, \d+ (?:lines? )?removed$/i,
  /^(?:usage|breakdown) by (?:ai )?model:?$/i,
  /^[\w.:/-]+ {2,}[\d.,]+[kmb]? in(?:put)?\b(?:[\s,]+\d(?:[\d.,]*\d)?[kmb]?(?: +[a-z]+)+)*(?: \([^)]*\))?$/i,
];
