import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/project.ts';

interface Restricted {
  readonly name: string;
  readonly allowImportNames?: readonly string[];
}

interface Override {
  readonly files: readonly string[];
  readonly rules: Readonly<Record<string, 'off' | readonly [string, { readonly paths?: readonly unknown[] }]>>;
}

const { overrides } = JSON.parse(readFileSync(join(root, '.oxlintrc.json'), 'utf8')) as { overrides: Override[] };

/** The imports from `node:fs` that are allowed, for each group of restricted files. */
const allowed = overrides.flatMap(({ files, rules }) => {
  const rule = rules['no-restricted-imports'];
  const paths = Array.isArray(rule) ? ((rule[1] as { paths?: Restricted[] }).paths ?? []) : [];
  const names = paths.find(({ name }) => name === 'node:fs')?.allowImportNames;
  return names === undefined ? [] : [{ files, names }];
});

test('functions that read a file by path cannot be imported, even where git writes the work tree', () => {
  expect(allowed).toHaveLength(4);
  for (const { names } of allowed)
    expect(names.filter((name) => /^(?:open|read(?:File|v)|createRead|copy|promises)/.test(name))).toEqual([]);
});

test('all groups allow the same imports, except files that write the work tree', () => {
  const [first, ...others] = allowed.filter(({ files }) => !files.includes('src/git/rewind.ts'));
  for (const { names } of others) expect(names).toEqual(first!.names);
});
