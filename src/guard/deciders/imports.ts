import { posix } from 'node:path';
import type { Files } from './scope.ts';

/** A script and its direct and indirect relative imports, at most `mostImports` files. */
export const importsOf = (files: Files, script: string): ReadonlySet<string> => {
  const found = new Set([script]);
  for (const path of found)
    for (const name of namesIn(path, files.read(path) ?? '')) {
      if (found.size === mostImports) return found;
      const target = endings
        .map((ending) => posix.join(posix.dirname(path), name + ending))
        .find((each) => files.isFile(each));
      if (target !== undefined) found.add(target);
    }
  return found;
};

const mostImports = 50;

const endings = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json', '/index.js', '/index.ts', '.py', '.rb'];

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
