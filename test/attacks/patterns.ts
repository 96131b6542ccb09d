import { readdirSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import type { Pattern } from './regexp-attacks.ts';

export interface FoundPattern extends Pattern {
  /** `src/file.ts:12` */
  readonly where: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly regex?: { pattern: string; flags: string };
  readonly callee?: { name?: string };
}

/** Every regular expression literal in src, and the locations of those that are built. */
export const patternsInSource = (): { literals: FoundPattern[]; built: string[] } => {
  const literals: FoundPattern[] = [];
  const built: string[] = [];
  for (const file of sourceFiles()) {
    const text = readFileSync(file, 'utf8');
    walk(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }), (node) => {
      const where = `${file}:${text.slice(0, node.start).split('\n').length}`;
      if (node.regex) literals.push({ where, source: node.regex.pattern, flags: node.regex.flags });
      if (/^(?:New|Call)Expression$/.test(node.type) && node.callee?.name === 'RegExp') built.push(where);
    });
  }
  return { literals, built };
};

const sourceFiles = (): string[] =>
  readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `src/${name}`)
    .toSorted();

const walk = (value: unknown, see: (node: Node) => void): void => {
  if (Array.isArray(value)) return value.forEach((item) => walk(item, see));
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return;
  if ('type' in value && 'start' in value) see(value as Node);
  for (const [key, inner] of Object.entries(value)) if (key !== 'regex') walk(inner, see);
};

/** Calls `see` for every pattern that is built until the returned function is called. */
export const recordPatterns = (see: (pattern: FoundPattern) => void): (() => void) => {
  const Native = RegExp;
  const record = (pattern: RegExp): RegExp => {
    const where = /src\/[\w./-]+\.tsx?:\d+/.exec(new Error().stack ?? '')?.[0];
    if (where !== undefined) see({ where, source: pattern.source, flags: pattern.flags });
    return pattern;
  };
  globalThis.RegExp = new Proxy(Native, {
    construct: (target, args) => record(Reflect.construct(target, args) as RegExp),
    apply: (target, self, args) => record(Reflect.apply(target, self, args) as RegExp),
  });
  return () => {
    globalThis.RegExp = Native;
  };
};
