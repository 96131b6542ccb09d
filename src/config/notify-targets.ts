import { closest } from '../text/closest.ts';
import { hasNul } from '../text/names.ts';

/** Where a notification goes: what `--notify` takes. */
export type NotifyTarget =
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'desktop' | 'bell' }
  | { readonly kind: 'url' | 'slack'; readonly url: URL }
  | { readonly kind: 'ntfy'; readonly url: URL; readonly topic: string };

/** What a notification can be about. */
export const notifyKinds = ['complete', 'blocked', 'failed', 'limit', 'interrupted', 'waiting', 'rejected'] as const;

export type NotifyKind = (typeof notifyKinds)[number];

/** Parses a target. Returns null for an address that is not valid. Anything that is not an address is a command. */
export const parseTarget = (text: string): NotifyTarget | null => {
  const trimmed = text.trim();
  if (trimmed === 'desktop' || trimmed === 'bell') return { kind: trimmed };
  const [, service, rest = ''] = /^(ntfy|slack):(.*)$/s.exec(trimmed) ?? [];
  if (service === 'ntfy') return ntfyTarget(rest);
  if (service === undefined && !/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed))
    return trimmed === '' || hasNul(text) || isMisspelt(trimmed) ? null : { kind: 'command', command: text };
  const url = webAddress(service === undefined ? trimmed : rest);
  return url && { kind: service === undefined ? 'url' : 'slack', url };
};

/** Not run as a command, which would fail hours later. Too many programs have names like `bell`. */
const isMisspelt = (word: string): boolean => /^[a-z]{5,9}$/i.test(word) && closest(word, ['desktop']) !== null;

const ntfyTarget = (text: string): NotifyTarget | null => {
  const url = webAddress(/^[\w-]{1,64}$/.test(text) ? `https://ntfy.sh/${text}` : text);
  const [, folder = '', topic = ''] = /^(.*\/)([\w-]{1,64})\/?$/.exec(url?.pathname ?? '') ?? [];
  return url && topic !== '' ? { kind: 'ntfy', url: Object.assign(url, { pathname: folder }), topic } : null;
};

const webAddress = (text: string): URL | null => {
  if (/\s/.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : null;
};

/** How a target is shown and recorded: anyone who knows the whole address can send messages to it. */
export const describeTarget = (text: string): string => {
  const [, service = '', address = ''] = /^(ntfy:|slack:|)(.*)$/s.exec(text.trim()) ?? [];
  const [, scheme, host] = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@)?([^/?#]*)/i.exec(address) ?? [];
  if (scheme !== undefined) return `${service}${scheme}${host}/…`;
  return service === '' ? text : `${service}…`;
};

/** The value of `notify` as it is shown and recorded. */
export const withoutTokens = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutTokens);
  return typeof value === 'string' ? value.split('\n').map(describeTarget).join('\n') : value;
};
