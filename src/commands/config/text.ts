import { isObject } from '../../text/shape.ts';
import { configKeys, flags } from '../../config/flags.ts';
import { userError } from '../../errors.ts';
import { parseJsonText } from '../../text/json.ts';
import { parseValue } from '../../config/values.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The keys that lead to a setting: `worktree`, `setup`. */
export type Path = readonly string[];

/** Where a setting is or would be. The setup of a worktree has two names; the one in the file is used. */
export const pathOf = (key: string, section: string | null, settings: JsonObject): Path => {
  if (section !== null) return ['changes', section, key];
  const setup: Path = ['worktree', 'setup'];
  if (key === 'worktreeSetup' || key === setup.join('.')) {
    if (valueAt(settings, setup) !== undefined) return setup;
    if (valueAt(settings, ['worktreeSetup']) !== undefined) return ['worktreeSetup'];
  }
  const dot = /^(worktree|env|permissions|harnesses)\.(.+)$/s.exec(key);
  return dot ? [dot[1]!, dot[2]!] : [key];
};

/** Converts a value from the command line to JSON. Does not check it: reading the file does. */
export const valueOf = (path: Path, raw: string): unknown => {
  if (path[0] === 'harnesses' && path.length > 1) return harnessIn(path, raw);
  if (path.join('.') === 'env.pass') return listIn(path, raw) ?? raw.split(',').map((name) => name.trim());
  if (path[0] === 'permissions') return listIn(path, raw) ?? [raw];
  const name = configKeys.find((key) => key === path.at(-1));
  switch (name && flags[name].kind) {
    case 'boolean':
      return parseValue('boolean', raw) ?? raw;
    case 'count':
    case 'count-or-unlimited':
    case 'money-or-unlimited':
      return /^\d{1,15}(?:\.\d{1,15})?$/.test(raw) ? Number(raw) : raw;
    case 'commands':
    case 'notifications':
      return listIn(path, raw) ?? raw;
    default:
      return raw;
  }
};

const harnessIn = (path: Path, raw: string): unknown => {
  const value = jsonIn(raw);
  if (isObject(value)) return value;
  throw userError('bad-value', path.join('.'), 'must be a JSON object such as {"command": "my-agent"}', raw);
};

/** Returns null if it is not a list. A shell test also starts with `[`, but with a space after it. */
const listIn = (path: Path, raw: string): unknown[] | null => {
  if (!/^\s*\[(?!\s)/.test(raw)) return null;
  const value = jsonIn(raw);
  if (Array.isArray(value)) return value;
  throw userError('bad-value', path.join('.'), 'must be a JSON list such as ["npm test", "npm run lint"]', raw);
};

const jsonIn = (raw: string): unknown => {
  try {
    return parseJsonText(raw);
  } catch {
    return undefined;
  }
};

/** Returns undefined if the setting is missing. */
export const valueAt = (settings: JsonObject, [first, ...rest]: Path): unknown => {
  if (first === undefined) return settings;
  const value = Object.hasOwn(settings, first) ? settings[first] : undefined;
  if (rest.length === 0) return value;
  return isObject(value) ? valueAt(value, rest) : undefined;
};

export const withValue = (settings: JsonObject, [first, ...rest]: Path, value: unknown): JsonObject => {
  const inner = valueAt(settings, [first!]);
  return { ...settings, [first!]: rest.length === 0 ? value : withValue(isObject(inner) ? inner : {}, rest, value) };
};

/** Removes the value, and objects that become empty. */
export const withoutValue = (settings: JsonObject, [first, ...rest]: Path): JsonObject => {
  const { [first!]: value, ...others } = settings;
  const inner = rest.length > 0 && isObject(value) ? withoutValue(value, rest) : {};
  return Object.keys(inner).length === 0 ? others : { ...settings, [first!]: inner };
};

interface Style {
  /** Empty if everything is on one line. */
  readonly indent: string;
  /** Lists are on one line. */
  readonly flatLists: boolean;
}

/** Formats settings in the style of the existing file. */
export const textOf = (settings: JsonObject, before: string): string => {
  const isEmpty = before.replace(/^\uFEFF/, '').replaceAll(/[\s{}]/g, '') === '';
  const indent = isEmpty ? '  ' : (/\n([ \t]+)\S/.exec(before)?.[1] ?? '');
  const text = format(settings, { indent, flatLists: !/\[[ \t]*\r?\n/.test(before) }, '');
  const whole = `${before.startsWith('\uFEFF') ? '\uFEFF' : ''}${text}${before === '' || before.endsWith('\n') ? '\n' : ''}`;
  return before.includes('\r\n') ? whole.replaceAll('\n', '\r\n') : whole;
};

const format = (value: unknown, style: Style, at: string): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const inner = at + style.indent;
  const parts = isList
    ? value.map((item) => format(item, style, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${format(item, style, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0 || style.indent === '' || (isList && style.flatLists)) return open + parts.join(', ') + close;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${at}${close}`;
};
