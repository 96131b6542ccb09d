import { posix } from 'node:path';
import { parseJsonObject } from './parts.ts';
import type { Files } from './scope.ts';

/** A script and its direct and indirect relative imports, at most `maxImports` files. */
export const importsOf = (files: Files, script: string): ReadonlySet<string> => {
  const found = new Set([script]);
  for (const path of found)
    for (const name of namesIn(path, files.read(path) ?? '')) {
      if (found.size === maxImports) return found;
      for (const target of entriesAt(files, posix.join(posix.dirname(path), name))) found.add(target);
    }
  return found;
};

const maxImports = 50;

/**
 * The files that an interpreter runs for a path: the file, one with an ending that is left out, or the entry of a
 * folder, with the package.json that names it.
 */
export const entriesAt = (files: Files, path: string): string[] => {
  const whole = posix.normalize(path);
  const file = endings.map((ending) => whole + ending).find((each) => files.isFile(each));
  if (file === whole) return [file];
  const settings = posix.join(whole, 'package.json');
  if (!files.isFile(settings)) return file === undefined ? [] : [file];
  const { main } = parseJsonObject(files.read(settings) ?? '') ?? {};
  const named = typeof main === 'string' ? posix.join(whole, main) : null;
  const entry = named === null ? undefined : endings.map((ending) => named + ending).find((each) => files.isFile(each));
  return [file, settings, entry].filter((each) => each !== undefined);
};

const endings = [
  '',
  '.js',
  '.mjs',
  '.cjs',
  '.ts',
  '.mts',
  '.cts',
  '.json',
  '.node',
  '/index.js',
  '/index.json',
  '/index.ts',
  '/__main__.py',
  '.py',
  '.rb',
];

const namesIn = (path: string, text: string): string[] => {
  const quoted = [
    ...text.matchAll(
      /(?:\brequire(?:_relative)?\s*(?:\(\s*)?|\bimport\s*(?:\(\s*)?|\bfrom\s*)['"`](\.{1,2}\/[^'"`\n]+|\w+)['"`]/g,
    ),
  ];
  const names = quoted.map(([, name = '']) => name).filter((name) => name.startsWith('.') || path.endsWith('.rb'));
  if (!path.endsWith('.py')) return names;
  const modules = [...text.matchAll(/^[ \t]*(?:from|import)[ \t]+\.?([\w.]+)/gm)];
  return modules.map(([, name = '']) => name.replaceAll('.', '/'));
};
