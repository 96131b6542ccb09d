import truncatedWidth from 'fast-string-truncated-width';
import { withoutControls } from './controls.ts';

export { duration, pluralise, timeAgo } from './duration.ts';

/** `07:00`, in local time. */
export const clockTime = (at: Date): string => `${pad2(at.getHours())}:${pad2(at.getMinutes())}`;

/** `07:00:09`, in local time. */
export const secondsTime = (at: Date): string => `${clockTime(at)}:${pad2(at.getSeconds())}`;

/** `2026-11-16`, in local time. */
export const localDay = (at: Date): string => `${at.getFullYear()}-${pad2(at.getMonth() + 1)}-${pad2(at.getDate())}`;

/** `today`, `yesterday`, `tomorrow`, or the date. */
export const relativeDay = (at: Date, now: Date): string => {
  const dayFromNow = (days: number) => localDay(new Date(now.getFullYear(), now.getMonth(), now.getDate() + days));
  const day = localDay(at);
  return { [dayFromNow(-1)]: 'yesterday', [dayFromNow(0)]: 'today', [dayFromNow(1)]: 'tomorrow' }[day] ?? day;
};

/** `07:00`, `yesterday 22:10`, `2026-11-16 22:10`. The day is left out if it is that of `base`. */
export const dayTime = (at: Date, now = new Date(), base = now): string =>
  localDay(at) === localDay(base) ? clockTime(at) : `${relativeDay(at, now)} ${clockTime(at)}`;

/** `at 07:00`, `tomorrow at 07:00`. */
export const atTime = (at: Date, now = new Date()): string => {
  const day = relativeDay(at, now);
  return `${day === 'today' ? '' : `${day} `}at ${clockTime(at)}`;
};

/** `+12 -3` */
export const lineChanges = ({
  insertions,
  deletions,
}: {
  readonly insertions: number;
  readonly deletions: number;
}): string => `+${insertions} -${deletions}`;

export const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Does not shorten the text: it may contain a secret, which must be redacted first. */
export const joinLines = (text: string): string => withoutControls(text).replaceAll(/\s+/g, ' ');

/** `a, b, c, d, e and 3 more`. `total` may be larger than the number of `names`. */
export const someOf = (names: readonly string[], total = names.length, maxNames = 5): string => {
  const first = names.slice(0, maxNames).map(joinLines);
  return `${first.join(', ')}${total > first.length ? ` and ${total - first.length} more` : ''}`;
};

/** The number of terminal columns that a text takes. */
export const widthOf = (text: string): number => (isPlain.test(text) ? text.length : truncatedWidth(text).width);

/** As many characters of a text as fit. Does not redact: what is cut off may be the rest of a secret. */
export const fitting = (text: string, columns: number): string =>
  widthOf(text) <= columns ? text : text.slice(0, truncatedWidth(text, { limit: columns }).index);

/** True for most texts, with the marks that Spool prints. The patterns for wide characters are slow to compile. */
const isPlain = /^[\u0020-\u007e·×’…→↑↓−─█▉▊▋▌▍▎▏■●○✔✘]*$/;

const pad2 = (number: number) => String(number).padStart(2, '0');
