// Without imports, since the web page uses it too.

/** `50ms`, `0.8s`, `4.2s`, `40s`, `3m 5s`, `30m`, `2h 10m`. */
export const duration = (ms: number): string => {
  if (ms < 99.5) return `${Math.round(ms)}ms`;
  if (ms < 9950) return `${Number((ms / 1000).toFixed(1))}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return withRest(Math.floor(seconds / 60), 'm', seconds % 60, 's');
  return withRest(Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'm');
};

const withRest = (whole: number, unit: string, rest: number, restUnit: string): string =>
  rest === 0 ? `${whole}${unit}` : `${whole}${unit} ${rest}${restUnit}`;

/** Whole seconds until a time, in milliseconds; 0 if it has passed. */
export const countdown = (untilMs: number, nowMs: number): number =>
  Math.max(0, Math.ceil((untilMs - nowMs) / 1000) * 1000);

/** `just now`, `5m ago`, `2h ago`, `3d ago`. */
export const timeAgo = (iso: string, now: Date): string => {
  const minutes = Math.floor((now.getTime() - new Date(iso).getTime()) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes}m ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h ago` : `${Math.floor(hours / 24)}d ago`;
};

export const pluralise = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`;
