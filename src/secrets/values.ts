import { existsSync } from 'node:fs';
import { minLiteralLength } from './literals.ts';

/** Returns the secrets of an environment in all forms in which they may be printed. */
export const secretLiterals = (env: NodeJS.ProcessEnv): string[] => {
  const secrets = Object.entries(env).flatMap(([name, value = '']) => secretsIn(name, value));
  return [...new Set(secrets)]
    .flatMap(encodings)
    .filter(({ length }) => length >= minLiteralLength && length <= maxLength);
};

/** A stream does not buffer more than this to complete a secret. */
const maxLength = 12 * 1024;

const words = (all: string): ReadonlySet<string> => new Set(all.split(' '));

/** Words of a name. The value of the variable is a secret, unless it looks like a path, a number or a switch. */
const secretWords = words(
  'KEY TOKEN PASS PWD PAT AUTHORIZATION CONNSTR CONNSTRING CONNECTIONSTR CONNECTIONSTRING CONN_STR CONN_STRING CONNECTION_STR CONNECTION_STRING',
);
/** The same, anywhere in a name. */
const secretParts = ['APIKEY', 'SECRET', 'PASSWORD', 'PASSWD', 'PASSPHRASE', 'CREDENTIAL'];
/** Words of a name. The value of the variable is a secret only if it looks random. */
const maybeSecretWords = words('AUTH SESSION COOKIE COOKIES DSN CONN');

/** Names that describe a type, a location or a duration, not a secret. */
const nonSecretName =
  /_(?:PATH|FILE|DIR|SOCK|URL|URI|NAME|LIFETIME|TTL|ID|TYPE|MODE|METHOD|CLASS|DESKTOP|ADDRESS|MANAGER|HOST|PORT)$/i;
/** Variables that a shell, a terminal, a desktop or a login sets about itself. */
const environmentName =
  /^(?:PWD$|(?:XDG|DBUS|DESKTOP|GNOME|KDE|KONSOLE|SSH|TERM|ITERM|TMUX|ZELLIJ|SHELL|WAYLAND|SWAY)_)/i;

const secretsIn = (name: string, value: string): string[] => {
  if (name === 'SPOOL_NOTIFY') return addressesIn(value);
  const inUrl = userinfoOf(value);
  if (value.length < minLiteralLength) return inUrl;
  const upper = name.toUpperCase();
  const isSecret =
    ((hasWord(upper, secretWords) || secretParts.some((part) => upper.includes(part))) && looksSecret(value)) ||
    (hasWord(upper, maybeSecretWords) && looksRandom(value));
  if (!isSecret || nonSecretName.test(name) || environmentName.test(name)) return inUrl;
  return [value, ...partsOf(value), ...inUrl];
};

/** Whether a word of a name, or two neighbours, are in a set. Patterns for that are slow to create. */
const hasWord = (name: string, known: ReadonlySet<string>): boolean =>
  name.split('_').some((word, index, all) => known.has(word) || known.has(`${word}_${all[index + 1]}`));

/** Returns the part of web addresses, one per line, that lets others send to them: the path and what follows. */
const addressesIn = (lines: string): string[] =>
  lines.split('\n').flatMap((line) => {
    const [, topic, path] = /^(?:ntfy:([\w-]+)$|(?:ntfy:|slack:)?https?:\/\/[^/]*\/(.+))/i.exec(line.trim()) ?? [];
    return [
      ...userinfoOf(line.trim().replace(/^(?:ntfy|slack):/, '')),
      ...[topic ?? path].filter((part) => part !== undefined),
    ];
  });

/** Returns true if a value is long enough, and not a plain word, a path or a number. */
const looksSecret = (value: string): boolean =>
  value.length >= minLiteralLength &&
  !/^(?:https?:\/\/[^@]*$|[\d.]+$)/.test(value) &&
  !isPath(value) &&
  (value.length >= 20 || !/^[a-z]+$/i.test(value));

/** A bare name does not count: otherwise a file of the project named like a secret would expose the secret. */
const isPath = (value: string): boolean => /^(?:\.{0,2}\/|[a-z]:[\\/])/i.test(value) && existsSync(value);

const looksRandom = (value: string): boolean =>
  value.length >= 12 && /\d/.test(value) && /[a-z]/i.test(value) && !value.startsWith('/') && looksSecret(value);

/** Returns the userinfo of a URL and its password, encoded and decoded. */
const userinfoOf = (value: string): string[] => {
  if (!value.includes('://')) return [];
  const [, userinfo] = /^[a-z][a-z0-9+.-]{0,40}:\/\/([^\s/?#]*)@/i.exec(value) ?? [];
  if (userinfo === undefined) return [];
  const colon = userinfo.indexOf(':');
  if (colon === -1) return looksRandom(userinfo) ? [userinfo] : [];
  const password = userinfo.slice(colon + 1);
  if (password === '') return [];
  const whole = userinfo.length >= minLiteralLength ? userinfo : `://${userinfo}@`;
  return [whole, ...[password, decoded(password)].filter(looksSecret)];
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/**
 * Returns the parts that are secrets: the password of a connection string, the value of a cookie, the token after
 * `Bearer`.
 */
const partsOf = (value: string): string[] =>
  value.split(/[\s;,]+/).flatMap((part) => {
    const [, key = '', text = part] = /^([\w.-]{1,64})=(?=[^=])(.*)$/.exec(part) ?? [];
    const isSecret = /pass|pwd|key|secret|token/i.test(key) ? looksSecret(text) : looksRandom(text);
    return isSecret && text !== value ? [text] : [];
  });

/** Returns a value as it may be printed, escaped or encoded. A multi-line value may be printed line by line. */
const encodings = (value: string): string[] => {
  const lines = value.split('\n').filter((line) => line.length >= minLiteralLength);
  const inJson = JSON.stringify(value).slice(1, -1);
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const percents = [percentEncoded(bytes, /[\w.~-]/), percentEncoded(bytes, /[\w.~!'()*-]/)];
  return [
    ...lines,
    inJson,
    inAscii(inJson),
    inJson.replaceAll('/', String.raw`\/`),
    JSON.stringify(inJson).slice(1, -1),
    ...percents.flatMap((text) => [text, lowerCased(text), text.replaceAll('%20', '+')]),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((offset) => base64At(bytes, offset)),
  ];
};

const inAscii = (text: string): string =>
  text.replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

const percentEncoded = (bytes: Buffer, plain: RegExp): string =>
  [...bytes]
    .map((byte) => ({ char: String.fromCharCode(byte), hex: byte.toString(16).toUpperCase().padStart(2, '0') }))
    .map(({ char, hex }) => (plain.test(char) ? char : `%${hex}`))
    .join('');

const lowerCased = (text: string): string => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

/** Returns the base64 characters that depend only on `bytes` if they occur at an offset in longer data. */
const base64At = (bytes: Buffer, offset: number): string[] => {
  const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
  const from = Math.ceil((offset * 8) / 6);
  const to = Math.floor((shifted.length * 8) / 6);
  return (['base64', 'base64url'] as const).map((alphabet) => shifted.toString(alphabet).slice(from, to));
};
