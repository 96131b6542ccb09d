import { duration, timeAgo } from '../../../text/duration.ts';
import { useNow } from '../state/clock.ts';

/** `2026-11-16 22:10:07`, in local time. */
export const exactTime = (at: string | number): string => {
  const date = new Date(at);
  const pad = (number: number) => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
};

/** `5m ago`, with the exact time on hover and for screen readers. */
export const Ago = ({ at }: { readonly at: string }) => {
  const now = useNow();
  if (at === '') return null;
  return (
    <time dateTime={at} title={exactTime(at)} tabIndex={0} class="exact" data-exact={exactTime(at)}>
      {timeAgo(at, new Date(now))}
    </time>
  );
};

/** `3m 5s`. With `sinceMs`, the time from which on it grows, it is counted once a second. */
export const Elapsed = ({ ms, sinceMs = null }: { readonly ms: number; readonly sinceMs?: number | null }) => {
  const now = useNow(sinceMs !== null);
  if (sinceMs === null) return <>{duration(ms)}</>;
  return <>{duration(Math.floor((ms + Math.max(0, now - sinceMs)) / 1000) * 1000)}</>;
};
