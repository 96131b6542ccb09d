/**
 * A part of a file that decides something: `package.json::scripts.test`, `pyproject.toml::[tool.pytest`,
 * `Makefile::rule test`; or, without a part, the whole file.
 */
export const partKey = (path: string, part: string): string => `${path}::${part}`;

export const splitKey = (key: string): { path: string; part: string | null } => {
  const at = key.indexOf('::');
  return at === -1 ? { path: key, part: null } : { path: key.slice(0, at), part: key.slice(at + 2) };
};

/** As a person would call it: `"test" in package.json`. */
export const keyName = (key: string): string => {
  const { path, part } = splitKey(key);
  if (part === null) return path;
  const name = part.replace(/^(?:scripts|tasks)\./, '').replace(/^rule /, '');
  return part.startsWith('[') ? `${part}] in ${path}` : `"${name || 'the first rule'}" in ${path}`;
};

/** The text of a part; null when the file does not have it. */
export const partOf = (text: string, part: string | null): string | null => {
  if (part === null) return text;
  if (part.startsWith('[')) return tablesOf(text, part);
  if (part.startsWith('rule ')) return rulesOf(text, part.slice('rule '.length)).text;
  return valueOf(text, part);
};

/** `scripts.test`: the name behind the first dot may have dots in it. */
const valueOf = (text: string, part: string): string | null => {
  const json = parseJson(text);
  if (json === null) return text;
  const [first = '', ...rest] = part.split('.');
  const value = json[first];
  if (rest.length === 0) return value === undefined ? null : JSON.stringify(value);
  const inner = value && typeof value === 'object' ? (value as Record<string, unknown>)[rest.join('.')] : undefined;
  return inner === undefined ? null : JSON.stringify(inner);
};

/** null for what is no object in JSON; comments on lines of their own are let through. */
export const parseJson = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, '').replaceAll(/^\s*\/\/.*$/gm, ''));
    return value && typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
};

/** All tables, of TOML or of an INI file, whose name begins so. */
const tablesOf = (text: string, start: string): string | null => {
  const lines: string[] = [];
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    const header = /^\s*\[+\s*(.*)$/.exec(line);
    if (header) inside = `[${header[1]}`.startsWith(start);
    if (inside && line.trim() !== '') lines.push(line.trimEnd());
  }
  return lines.length === 0 ? null : lines.join('\n');
};

export interface Rules {
  /** What decides a target: its rule, those that it needs, and all that stands outside of rules. */
  readonly text: string | null;
  /** The commands that they run. */
  readonly recipes: string;
}

/** A file of make or just. Where includes, conditions or patterns make it unclear, all of it decides. */
export const rulesOf = (text: string, target: string): Rules => {
  const whole = {
    text,
    recipes: recipesIn(
      text,
      text.split(/\r?\n/).filter((line) => /^\s/.test(line)),
    ),
  };
  if (/^\s*(?:-?include|sinclude|define|ifn?eq|ifn?def|else|import|mod)\b/m.test(text)) return whole;
  const { rules, around } = cut(text);
  const wanted = target || [...rules.keys()].find((name) => !name.startsWith('.'));
  if (wanted === undefined || !rules.has(wanted) || [...rules.keys()].some((name) => /[%$]/.test(name))) return whole;
  const needed = new Set<string>([wanted]);
  for (const name of needed) for (const other of rules.get(name)?.needs ?? []) if (rules.has(other)) needed.add(other);
  const lines = [...needed].flatMap((name) => rules.get(name)!.lines);
  return { text: [...around, ...lines].join('\n'), recipes: recipesIn(text, lines) };
};

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
    const header = /^@?([^\s:=#][^:#]*?)\s*::?(?!=)(.*)$/.exec(line);
    const isAssignment = /^[\w.-]+\s*[:?+!]*=/.test(line);
    if (!header || isAssignment || /^\.[A-Z_]+\b/.test(line)) {
      current = [];
      if (!line.startsWith('.PHONY')) around.push(line.trimEnd());
      continue;
    }
    // In just, what follows the name are parameters.
    const names = header[1]!.split(/\s+/);
    current = names.map((name) => {
      const rule = rules.get(name) ?? { needs: [], lines: [] };
      rule.needs.push(...header[2]!.split(/[\s()&|]+/).filter(Boolean));
      rule.lines.push(line.trimEnd());
      rules.set(name, rule);
      return rule;
    });
  }
  return { rules, around };
};

const recipesIn = (text: string, lines: readonly string[]): string => {
  const variables = new Map(
    [...text.matchAll(/^([\w.-]+)\s*[:?]*=\s*(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  return lines
    .filter((line) => /^\s/.test(line))
    .map((line) =>
      line
        .trim()
        .replace(/^[@+-]+/, '')
        .replaceAll(/\$[({]([\w.-]+)[)}]/g, (_, name: string) =>
          name === 'MAKE' ? 'make' : (variables.get(name) ?? ''),
        )
        .replaceAll('$$', '$'),
    )
    .join('\n');
};
