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

/** What may be imported of `node:fs`, for each group of files for which that is limited. */
const allowed = overrides.flatMap(({ files, rules }) => {
  const rule = rules['no-restricted-imports'];
  const paths = Array.isArray(rule) ? ((rule[1] as { paths?: Restricted[] }).paths ?? []) : [];
  const names = paths.find(({ name }) => name === 'node:fs')?.allowImportNames;
  return names === undefined ? [] : [{ files, names }];
});

test('nothing that reads a file by its path can be imported, also not where git writes the work tree', () => {
  expect(allowed).toHaveLength(4);
  for (const { names } of allowed)
    expect(names.filter((name) => /^(?:open|read(?:File|v)|createRead|copy|promises)/.test(name))).toEqual([]);
});

test('the same is allowed everywhere, but for the files that write the work tree', () => {
  const [first, ...others] = allowed.filter(({ files }) => !files.includes('src/git/rewind.ts'));
  for (const { names } of others) expect(names).toEqual(first!.names);
});
