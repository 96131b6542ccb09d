import { parseJsonText } from '../../text/json.ts';

/** The key of a part of a file: `package.json::scripts.test`, `pyproject.toml::[tool.pytest`, `Makefile::rule test`. */
export const partKey = (path: string, part: string): string => `${path}::${part}`;

/** The text of a task file without its tasks. */
export const textPart = 'text';

export const splitKey = (key: string): { path: string; part: string | null } => {
  const at = key.indexOf('::');
  return at === -1 ? { path: key, part: null } : { path: key.slice(0, at), part: key.slice(at + 2) };
};

/** For messages: `"test" in package.json`. */
export const keyName = (key: string): string => {
  const { path, part } = splitKey(key);
  if (part === null) return path;
  const name = part.replace(/^(?:scripts|tasks)\./, '').replace(/^rule /, '');
  if (part === textPart) return `the text of ${path}`;
  if (part === 'shell settings') return `a script setting in ${path}`;
  if (part.endsWith(':')) return `"${part.slice(0, -1)}" in ${path}`;
  return part.startsWith('[') ? `${part}] in ${path}` : `"${name || 'the first rule'}" in ${path}`;
};

/** The text of a part; null if the file does not have it. */
export const partOf = (text: string, part: string | null): string | null => {
  if (part === null) return text;
  if (part.startsWith('[')) return tablesOf(text, part);
  if (part === 'shell settings') return shellSettings(text);
  if (part.endsWith(':') && !part.includes('.')) return blockOf(text, part);
  if (part.startsWith('rule ')) return rulesOf(text, part.slice('rule '.length)).text;
  return valueOf(text, part);
};

/** `scripts.test`: the name after the first dot may contain dots. */
const valueOf = (text: string, part: string): string | null => {
  const json = parseJsonObject(text);
  if (json === null) return text;
  const [first = '', ...rest] = part.split('.');
  const value = json[first];
  if (rest.length === 0) return value === undefined ? null : JSON.stringify(value);
  const inner = value && typeof value === 'object' ? (value as Record<string, unknown>)[rest.join('.')] : undefined;
  return inner === undefined ? null : JSON.stringify(inner);
};

/** Returns null unless the text is a JSON object. Lines that are comments are allowed. */
export const parseJsonObject = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = parseJsonText(text.replace(/^\uFEFF/, '').replaceAll(/^[ \t]*\/\/.*$/gm, ''));
    return value && typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
};

/** Settings that replace the shell or the program that runs scripts, choose other scripts, or end without running any. */
const shellSetting = new RegExp(
  String.raw`^\s*(?:export\s+)?["']?(?:${[
    String.raw`script-?shell|shell(?:-?emulator|flags)?|\.shellflags|node-?options|onload-?script|preload|plugins|yarn-?path`,
    'usage|ignore-?scripts|if-?present|enable-?pre-?post-?scripts',
    'workspaces?|include-?workspace-?root|recursive|filter(?:-?prod)?|test-?pattern|changed-?files-?ignore-?pattern',
    '(?:gnu)?makeflags|makefiles|path',
  ].join('|')})(?:\[\])?["']?\s*(?::?=|:|\s|$)`,
  'i',
);

/** A name that contains a variable or an escape, which may be any setting, or an argument in .yarnrc. */
const hiddenSetting = /^\s*["']?(?:[\w-]*(?:\$\{|\\u)|--(?!(?:add|install)\.)[a-z*])/i;

/** The lines of a settings or variables file that change how commands run, with the lists below them. */
const shellSettings = (text: string): string | null => {
  const lines = text.split(/\r?\n/);
  let inList = false;
  const found = lines.filter((line) => {
    const setting = shellSetting.test(line) || hiddenSetting.test(line);
    inList = setting ? line.trimEnd().endsWith(':') : inList && /^[\s-]/.test(line);
    return setting || inList;
  });
  return found.length === 0 ? null : found.map((line) => line.trim()).join('\n');
};

/** A top-level key of a YAML file with everything below it. */
const blockOf = (text: string, key: string): string | null => {
  const lines = text.split(/\r?\n/).filter((line) => !/^\s*(?:#|$)/.test(line));
  const start = lines.findIndex((line) => line.startsWith(key));
  if (start === -1) return null;
  const end = lines.findIndex((line, index) => index > start && /^[^\s-]/.test(line));
  return lines
    .slice(start, end === -1 ? undefined : end)
    .map((line) => line.trim())
    .join('\n');
};

/** All tables of a TOML or INI file whose header starts with `start`. */
const tablesOf = (text: string, start: string): string | null => {
  const lines: string[] = [];
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    const header = /^\s*\[+\s*(.*)$/s.exec(line);
    if (header) inside = `[${header[1]}`.startsWith(start);
    if (inside && line.trim() !== '') lines.push(line.trimEnd());
  }
  return lines.length === 0 ? null : lines.join('\n');
};

export interface Rules {
  /** What decides a target: its rule, the rules it needs, and the text outside of rules without unused variables. */
  readonly text: string | null;
  /** The commands of these rules. */
  readonly recipes: string;
}

/**
 * For a makefile or justfile. If includes, conditions or patterns make the result uncertain, the whole file decides.
 */
export const rulesOf = (text: string, target: string): Rules => {
  const whole = {
    text,
    recipes: recipesIn(
      text,
      text.split(/\r?\n/).filter((line) => /^\s/.test(line)),
    ),
  };
  if (/^[ \t]*(?:-?include|sinclude|define|ifn?eq|ifn?def|else|import|mod)\b/m.test(text)) return whole;
  const { rules, around } = cut(text);
  const wanted = target || [...rules.keys()].find((name) => !name.startsWith('.'));
  if (wanted === undefined || !rules.has(wanted) || [...rules.keys()].some((name) => /[%$]/.test(name))) return whole;
  const needed = neededBy(wanted, rules);
  const lines = needed.flatMap((name) => rules.get(name)!.lines);
  const isPhony = phonyIn(text);
  const phony = needed.filter(isPhony).map((name) => `.PHONY: ${name}`);
  return { text: [...usedOf(around, lines), ...phony, ...lines].join('\n'), recipes: recipesIn(text, lines) };
};

/** A target and the rules it needs, directly or indirectly. */
const neededBy = (target: string, rules: ReadonlyMap<string, Rule>): string[] => {
  const needed = new Set<string>([target]);
  for (const name of needed) for (const other of rules.get(name)?.needs ?? []) if (rules.has(other)) needed.add(other);
  return [...needed];
};

const phonyIn = (text: string): ((name: string) => boolean) => {
  const variables = variablesIn(text);
  const lists = text.replaceAll(/\\\r?\n/g, ' ').matchAll(/^\.PHONY[ \t]*:+(.*)$/gm);
  const names = new Set([...lists].flatMap(([, list = '']) => withVariables(list, variables).split(/\s+/)));
  return (name) => names.has(name);
};

/**
 * The rules behind a target that make skips as soon as a file with their name exists, although they are not meant to
 * create it: rules that are neither `.PHONY` nor seem to write such a file.
 */
export const skippableIn = (text: string, target: string): string[] => {
  const { rules } = cut(text);
  const wanted = target || [...rules.keys()].find((name) => !name.startsWith('.'));
  if (wanted === undefined || !rules.has(wanted)) return [];
  const isPhony = phonyIn(text);
  const isOutput = (name: string) =>
    /[./%$]/.test(name) || usualOutputs.test(name) || rules.get(name)!.lines.some((line) => writesTo(line, name));
  return neededBy(wanted, rules).filter((name) => !isPhony(name) && !isOutput(name));
};

const usualOutputs =
  /^(?:node_modules|vendor|venv|env|dist|build|out|output|target|bin|obj|lib|pkg|coverage|html|site)$/;

/** `cc -o app`, `> app`, `touch app`, `$@`. */
const writesTo = (line: string, name: string): boolean =>
  /\$(?:@|[({]@)/.test(line) ||
  [...line.matchAll(/(?:-o|-d|>|--out\S*|\btouch|\bmkdir(?:\s+-p)?|\bclone\s+\S+|\bvenv)[\s=]*(\S+)/g)].some(
    ([, output = '']) => output.replaceAll(/^["'.]*\/|\/$|["']/g, '') === name,
  );

const assignment = /^([\w.-]+)\s*[:?+!]*=/;
/** Variables that affect every recipe. */
const usedByMake = /^(?:\.\w+|SHELL|MAKEFLAGS|GNUMAKEFLAGS|MAKEFILES|VPATH|PATH|NODE_OPTIONS|PYTEST_ADDOPTS)$/;

/** Without the variables that these lines use neither directly nor through other variables. */
const usedOf = (around: readonly string[], lines: readonly string[]): readonly string[] => {
  const isComputed = [...around, ...lines].some((line) => /\$[({](?:[^)}]*\$|(?:call|eval|foreach)\b)/.test(line));
  if (isComputed || around.some((line) => /^(?:export\s*$|\.EXPORT_ALL|set\s+export)/.test(line))) return around;
  const used = new Set<string>(around.filter((line) => usedByMake.test(assignment.exec(line)?.[1] ?? '.OTHER')));
  for (const text of [...lines, ...used]) addUsed(text, around, used);
  return around.filter((line) => used.has(line));
};

const addUsed = (text: string, around: readonly string[], used: Set<string>): void => {
  const words = new Set(text.split(/[^\w.-]+/));
  for (const line of around) {
    const name = assignment.exec(line)?.[1];
    if (name === undefined || !words.has(name) || used.has(line)) continue;
    used.add(line);
    addUsed(line.slice(name.length), around, used);
  }
};

/** The makefiles that a makefile includes, as they are written there. */
export const includesIn = (text: string): string[] =>
  [...text.matchAll(/^ *(?:-?include|sinclude|import\??|mod\??)[ \t]+([^#\n]+)/gm)].flatMap(([, names = '']) =>
    names
      .replaceAll(/\$\(([\w.-]+)\)/g, '$${$1}')
      .replaceAll(/['"]/g, '')
      .trim()
      .split(/\s+/),
  );

interface Rule {
  readonly needs: string[];
  readonly lines: string[];
}

const cut = (text: string): { rules: Map<string, Rule>; around: string[] } => {
  const rules = new Map<string, Rule>();
  const around: string[] = [];
  let current: Rule[] = [];
  for (const line of text.replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    if (line.trim() === '' || /^(?:#|\[.*\]$)/.test(line)) continue;
    if (/^\s/.test(line)) {
      for (const rule of current) rule.lines.push(line.trimEnd());
      continue;
    }
    const header = /^@?([^\s:=#][^:#]*)::?(?!=)(.*)$/s.exec(line);
    if (!header || assignment.test(line) || /^\.[A-Z_]+\b/.test(line)) {
      current = [];
      if (!line.startsWith('.PHONY')) around.push(line.trimEnd());
      continue;
    }
    // In a justfile, parameters follow the name.
    const names = header[1]!.trimEnd().split(/\s+/);
    current = names.map((name) => {
      const rule = rules.get(name) ?? { needs: [], lines: [] };
      for (const need of header[2]!.split(/[\s()&|]+/).filter(Boolean)) rule.needs.push(need);
      rule.lines.push(line.trimEnd());
      rules.set(name, rule);
      return rule;
    });
  }
  return { rules, around };
};

const recipesIn = (text: string, lines: readonly string[]): string => {
  const variables = variablesIn(text);
  return lines
    .filter((line) => /^\s/.test(line))
    .map((line) => withVariables(line.trim().replace(/^[@+-]+/, ''), variables).replaceAll('$$', '$'))
    .join('\n');
};

const variablesIn = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/^([\w.-]+)\s*[:?]*=\s*(.*)$/gm)].map(([, name = '', value = '']) => [name, value]));

const withVariables = (text: string, variables: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\$[({]([\w.-]+)[)}]/g, (_, name: string) =>
    name === 'MAKE' ? 'make' : (variables.get(name) ?? ''),
  );
