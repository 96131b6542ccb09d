import { expect, test } from 'vitest';
import { readRefusals } from '../../../src/git/tree-snapshots/refusals.ts';

const none = { files: [], empty: [], other: null };
const file = (name: string, why: string) => ({ ...none, files: [{ name, why }] });

test.each([
  ['', none],
  ['warning: in the working copy of "a.txt", LF will be replaced by CRLF', none],
  [
    "sh: 1: git-lfs: not found\nerror: external filter 'git-lfs clean -- %f' failed 127\nfatal: a.txt: clean filter 'lfs' failed",
    file('a.txt', "a.txt: clean filter 'lfs' failed"),
  ],
  [
    'fatal: CRLF would be replaced by LF in sp ace.txt',
    file('sp ace.txt', 'CRLF would be replaced by LF in sp ace.txt'),
  ],
  [
    "fatal: BOM is required in 'a.txt' if encoded as UTF-16",
    file('a.txt', "BOM is required in 'a.txt' if encoded as UTF-16"),
  ],
  [
    'error: open("a.txt"): Permission denied\nerror: unable to index file \'a.txt\'\nfatal: updating files failed',
    file('a.txt', 'open("a.txt"): Permission denied'),
  ],
  ["error: 'nested/' does not have a commit checked out", { ...none, empty: ['nested'] }],
  ["fatal: unable to index file 'it's.txt'", file("it's.txt", "unable to index file 'it's.txt'")],
  ['fatal: größe.txt: clean filter', { ...none, other: 'größe.txt: clean filter' }],
  ["fatal: größe.txt: clean filter 'x' failed", file('grÃ¶Ã\x9fe.txt', "größe.txt: clean filter 'x' failed")],
  [
    "fatal: Unable to create 'index.lock': File exists.",
    { ...none, other: "Unable to create 'index.lock': File exists." },
  ],
])('%j', (stderr, expected) => {
  const there = new Set(['a.txt', 'sp ace.txt', "it's.txt", 'grÃ¶Ã\x9fe.txt']);

  expect(readRefusals(stderr, (name) => there.has(name))).toEqual(expected);
});
