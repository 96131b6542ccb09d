/**
 * Finds when a usage limit resets, in the forms that providers and agents use: a Unix timestamp after a bar, a date and
 * time, a time of day with an optional day and time zone, or a duration. Returns Unix milliseconds, or null if the
 * message has none.
 */
export const resetTime = (message: string, now: Date): number | null => plausible(read(message, now), now);

/** A time further away than any limit lasts was misread. */
const plausible = (at: number | null, now: Date): number | null =>
  at === null || Number.isNaN(at) || at > now.getTime() + maxMs ? null : at;

/**
 * Returns when a provider wants to be asked again, from the headers of its response: `retry-after` in seconds or as an
 * HTTP date, or `retry-after-ms`.
 */
export const retryAfter = (headers: Readonly<Record<string, unknown>>, now: Date): number | null => {
  const header = (wanted: string) => {
    const value = Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
    return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  };
  const [ms, value] = [header('retry-after-ms'), header('retry-after')];
  if (isAmount(ms)) return plausible(now.getTime() + Number(ms), now);
  if (isAmount(value)) return plausible(now.getTime() + Number(value) * 1000, now);
  return /^[A-Za-z]{3}, \d/.test(value) ? plausible(Date.parse(value), now) : null;
};

const isAmount = (text: string): boolean => /^\d{1,10}(?:\.\d{1,10})?$/.test(text);

const maxMs = 32 * 86_400_000;

const read = (message: string, now: Date): number | null => {
  const stamp = /(?:\||resets?_at\W{1,4})(\d{10})\b/i.exec(message)?.[1];
  if (stamp) return Number(stamp) * 1000;
  const seconds = /(?:retry[-_ ]after|resets?_in_seconds|retry_in)["']?\W{1,4}(\d+)\b(?!\s*[a-z.\d])/i.exec(
    message,
  )?.[1];
  if (seconds) return now.getTime() + Number(seconds) * 1000;
  const behind = /\b(?:resets?|retry|retrydelay|try|again)\b(.{0,120})/is.exec(message)?.[1];
  if (behind === undefined) return null;
  return dateTime(behind) ?? span(behind, now) ?? timeOfDay(behind, now);
};

const dateTime = (text: string): number | null => {
  const stated = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/.exec(text)?.[0];
  const at = stated ? Date.parse(stated.replace(' ', 'T')) : NaN;
  return Number.isNaN(at) ? null : at;
};

const units: Readonly<Record<string, number>> = {
  w: 604_800_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};

const amount = String.raw`\d+(?:\.\d+)?\s*(?:weeks?|days?|hours?|min(?:ute)?s?|sec(?:ond)?s?|ms|milliseconds?|[wdhms])(?![a-z])[\s,]*(?:and\s+)?`;
const amounts = new RegExp(`^(?:\\s*again)?\\W*(?:(?:after|in)\\W*)?((?:${amount})+)`, 'i');

/** `in 2 days 17 hours 14 minutes`, `after 2h3m4s`, `"retryDelay":"34.5s"`. */
const span = (text: string, now: Date): number | null => {
  const stated = amounts.exec(text)?.[1];
  if (!stated) return null;
  const parts = [...stated.matchAll(/(?<!\d)(\d+(?:\.\d+)?)\s*(ms|milli|[wdhms])/gi)];
  return parts.reduce((at, [, number, unit]) => at + Number(number) * unitOf(unit!), now.getTime());
};

const unitOf = (name: string) => units[/^m(?:s|illi)/i.test(name) ? 'ms' : name.toLowerCase()]!;

const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** A time of day that passed less than this ago is not tomorrow's: clocks differ, and messages arrive late. */
const justNowMs = 10 * 60_000;

/** `resets 2:30pm (Pacific/Auckland)`, `again at Nov 20th, 2026 2:51 PM`, `resets 16:21 on 19 May`. */
const timeOfDay = (text: string, now: Date): number | null => {
  const clock = /\b(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b/i.exec(text) ?? /\b(\d{1,2}):(\d\d)()(?=\D|$)/.exec(text);
  if (!clock) return null;
  const [, hour, minute = '0', half = ''] = clock;
  const hours = half === '' ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  if (hours > 23 || Number(minute) > 59) return null;
  const zone = zoneOf(text);
  const today = wallClock(now.getTime(), zone);
  const day = dayIn(text, today);
  const at = instant({ ...(day ?? today), hours, minutes: Number(minute) }, zone);
  if (day?.stated || at > now.getTime() - justNowMs) return at;
  if (day) return instant({ ...day, year: today.year + 1, hours, minutes: Number(minute) }, zone);
  return instant({ ...today, day: today.day + 1, hours, minutes: Number(minute) }, zone);
};

interface Wall {
  readonly year: number;
  /** 0 is January. */
  readonly month: number;
  readonly day: number;
  readonly hours: number;
  readonly minutes: number;
}

/** Common abbreviations. Summer and winter time share one zone. */
const zones: Readonly<Record<string, string>> = {
  utc: 'UTC',
  gmt: 'UTC',
  z: 'UTC',
  pst: 'America/Los_Angeles',
  pdt: 'America/Los_Angeles',
  pt: 'America/Los_Angeles',
  mst: 'America/Denver',
  mdt: 'America/Denver',
  cst: 'America/Chicago',
  cdt: 'America/Chicago',
  est: 'America/New_York',
  edt: 'America/New_York',
  et: 'America/New_York',
  cet: 'Europe/Paris',
  cest: 'Europe/Paris',
  bst: 'Europe/London',
  jst: 'Asia/Tokyo',
};

/**
 * `(Pacific/Auckland)`, `15:00 UTC`, `3pm PST`, `GMT+2`. Returns undefined, the zone of this machine, for unknown
 * names.
 */
const zoneOf = (text: string): string | undefined => {
  const [, sign, hours] = /(?<![/\w])(?:UTC|GMT)\s?([+-])(\d{1,2})\b/.exec(text) ?? [];
  // The Etc/GMT zones have inverted signs.
  if (sign) return `Etc/GMT${sign === '+' ? '-' : '+'}${Number(hours)}`;
  const name = /\(([A-Za-z][\w/+-]+)\)/.exec(text)?.[1] ?? /(?:[ap]\.?m\.?|\d)\s?([A-Z]{1,4})\b/.exec(text)?.[1];
  const known = name && (zones[name.toLowerCase()] ?? name);
  try {
    return known && new Intl.DateTimeFormat('en', { timeZone: known }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
};

/** The day that the text names, in the current year unless it names another. */
const dayIn = (text: string, today: Wall): (Pick<Wall, 'year' | 'month' | 'day'> & { stated: boolean }) | null => {
  const name = months.join('|');
  const american = new RegExp(`\\b(${name})[a-z]*\\.?\\s+(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?`, 'i').exec(
    text,
  );
  const european = new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th)?\\s+(${name})[a-z]*\\.?(?:,?\\s+(\\d{4}))?`, 'i').exec(
    text,
  );
  const [month, day, year] = american
    ? [american[1], american[2], american[3]]
    : european
      ? [european[2], european[1], european[3]]
      : [];
  if (month === undefined) return weekdayOf(text, today);
  return {
    year: year === undefined ? today.year : Number(year),
    month: months.indexOf(month.slice(0, 3).toLowerCase()),
    day: Number(day),
    stated: year !== undefined,
  };
};

/** Today or the next day with that name. */
const weekdayOf = (text: string, today: Wall) => {
  const name = new RegExp(`\\b(${weekdays.join('|')})(?:[a-z]*day)?\\b`, 'i').exec(text)?.[1]?.toLowerCase();
  if (name === undefined) return null;
  const ahead = (weekdays.indexOf(name) - new Date(Date.UTC(today.year, today.month, today.day)).getUTCDay() + 7) % 7;
  return { ...today, day: today.day + ahead, stated: true };
};

const wallClock = (at: number, timeZone: string | undefined): Wall => {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(at);
  const part = (type: string) => Number(parts.find((candidate) => candidate.type === type)?.value);
  return {
    year: part('year'),
    month: part('month') - 1,
    day: part('day'),
    hours: part('hour'),
    minutes: part('minute'),
  };
};

/** The Unix time at which clocks in the zone show this time. */
const instant = ({ year, month, day, hours, minutes }: Wall, timeZone: string | undefined): number => {
  const asUtc = Date.UTC(year, month, day, hours, minutes);
  const offset = (at: number) => {
    const wall = wallClock(at, timeZone);
    return Date.UTC(wall.year, wall.month, wall.day, wall.hours, wall.minutes) - at;
  };
  // Twice, because the first result may be on the other side of a daylight saving change.
  return asUtc - offset(asUtc - offset(asUtc));
};
