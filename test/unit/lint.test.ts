import { readdirSync, readFileSync } from 'node:fs';
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
  expect(allowed).toHaveLength(3);
  for (const { names } of allowed)
    expect(names.filter((name) => /^(?:open|read(?:File|v)|createRead|copy|promises)/.test(name))).toEqual([]);
});

test('only process/spawn.ts and process/ps.ts start processes', () => {
  const free = overrides.flatMap(({ files, rules }) => {
    const rule = rules['no-restricted-imports'];
    if (rule === undefined) return [];
    const { paths = [], patterns = [] } = (rule === 'off' ? {} : rule[1]) as {
      paths?: Restricted[];
      patterns?: string[];
    };
    const names = ['node:child_process', 'cross-spawn'].filter((name) => !paths.some((path) => path.name === name));
    return names.length === 0 || patterns.includes('node:*') ? [] : files;
  });
  expect(free).toEqual(['src/process/spawn.ts', 'src/process/ps.ts']);
});

test('all groups allow the same imports, except files that write the work tree', () => {
  const [first, ...others] = allowed.filter(({ files }) => !files.includes('src/git/rewind.ts'));
  for (const { names } of others) expect(names).toEqual(first!.names);
});

/** Files that write by a whole path, without a check of the folders outside of `.spool`, and where they write. */
const writing: Readonly<Record<string, string>> = {
  'changes/archive/journal.ts': 'the journal in the state folder',
  'changes/copies.ts': 'the copies in the state folder',
  'changes/new-change.ts': 'below .spool',
  'changes/spool/create.ts': 'below .spool',
  'guard/saved-memory.ts': 'the state folder',
  'guard/weakened-tests/accepted.ts': 'the state folder of the user',
  'run/assignment.ts': 'the folder of the run',
  'run/gate/report-files.ts': 'a temporary folder',
  'run/host.ts': 'the folder of the run',
  'run/notify/command.ts': 'a temporary folder',
  'run/notify/notify.ts': 'the folder of the run',
  'run/review/copy.ts': 'the folder of a review, below .spool',
  'run/review/reviewer.ts': 'the folder of the run',
  'run/sessions.ts': 'the state folder of the user',
  'run/start.ts': 'the folder of the run',
  'run/work/restore-unfinished.ts': 'a temporary index',
  'run/workspace/open-agent-workspace.ts': 'the folder of the run, and a temporary index',
};

const byPath =
  /\b(?:writeSafely|replaceSafely|removeSafely|renameSafely|linkSafely|openSafely|openEmpty|touchSafely|createFolder|removeIfEmpty|copySafely)\(/;

test('files of a project or worktree outside of .spool are written with a check of every folder on the way', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /^(?:land|changes|run|guard|ralph)\/.*\.ts$/.test(name));
  const found = files.filter((name) => byPath.test(readFileSync(join(root, 'src', name), 'utf8')));
  expect(found.toSorted()).toEqual(Object.keys(writing));
});

/** Files that shorten texts themselves, and why no part of a secret remains of them. */
const shortening: Readonly<Record<string, string>> = {
  'changes/scenarios/acceptance-lists.ts': 'cuts between words',
  'errors.ts': 'cuts between words',
  'process/shell.ts': 'redacts the text before, and drops its beginning if that may be a part of a secret',
  'proof/source-links.ts': 'the line is only searched',
  'ralph/handover/notes.ts': 'the records are redacted',
  'ralph/ledger-bounds.ts': 'the ledger is redacted',
  'ralph/prompt-scenarios.ts': 'the records are redacted, and the titles are in the specs that the agent reads',
  'ralph/prompt.ts': 'the records are redacted',
  'run/work/commit-subject.ts': 'the text is redacted before',
  'run/work/commit.ts': 'the ID of a change is a public name',
  'sandbox/planted-links.ts': 'cuts between the parts of a path',
  'store/event-text.ts': 'the line is redacted',
  'trust/outside.ts': 'the command is only searched',
  'trust/words.ts': 'the command is only searched',
};

/** A text that is cut at a maximum length, or before or after an ellipsis. */
const cuts =
  /\.slice\((?:0, |-)(?:max|longest|tail)\w*(?:Length|Text|Line|Message|Answer)\b(?! [-+] maxRedactedLength)|\.slice\([^`]*\)\}\s?…|…\$\{[^}]*\.slice\(/;

test('only a redactor and the reporters, which get redacted texts, shorten texts', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !/^(?:secrets|report)\//.test(name));
  const found = files.filter((name) => cuts.test(readFileSync(join(root, 'src', name), 'utf8')));
  expect(found.toSorted()).toEqual(Object.keys(shortening));
});
