import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { highlight, languageOf } from '../../../src/web/page/parts/highlight.ts';
import { pairsOf, unifiedOf } from '../../../src/web/page/run/diff/rows.ts';

const kindsOf = (line: string, path: string) =>
  highlight(line, languageOf(path)).flatMap(({ text, kind }) => (kind === null ? [] : [`${kind}: ${text}`]));

describe('highlighting', () => {
  test.each([
    ['a.ts', 'const a = f("b", 1); // c', ['keyword: const', 'name: f', 'string: "b"', 'number: 1', 'comment: // c']],
    ['a.ts', 'const url = "http://x"; /* y */', ['keyword: const', 'string: "http://x"', 'comment: /* y */']],
    ['a.py', 'def add(a): # "sum"', ['keyword: def', 'name: add', 'comment: # "sum"']],
    ['a.json', '{"a": true, "b": 1.5}', ['string: "a"', 'keyword: true', 'string: "b"', 'number: 1.5']],
    ['a.html', '<a href="x">', ['name: <a', 'string: "x"', 'name: >']],
    ['a.sql', 'select 1 -- one', ['keyword: select', 'number: 1', 'comment: -- one']],
    ['Makefile', 'all: # x', ['comment: # x']],
    ['a.unknown', 'const a = 1', []],
    ['a.ts', `"${'x'.repeat(3000)}"`, []],
  ])('%s: %s', (path, line, expected) => {
    expect(kindsOf(line, path)).toEqual(expected);
  });

  test('never loses or adds a character', () => {
    const paths = fc.constantFrom('a.ts', 'a.py', 'a.json', 'a.html', 'a.css', 'a.sql', 'a.txt');
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'"\'`\\/*#<>&;-:.@ 01xe_aé😀\t{}(') }), paths, (line, path) => {
        expect(
          highlight(line, languageOf(path))
            .map(({ text }) => text)
            .join(''),
        ).toBe(line);
      }),
    );
  });

  test('takes time that grows with the line, not faster', () => {
    const hostile = ['"', "'", '`', '\\"', '/*', '<!--', '0x', '1e', 'a.', '&#'].map((part) =>
      part.repeat(900).slice(0, 1999),
    );
    const start = performance.now();
    for (const line of hostile)
      for (const path of ['a.ts', 'a.py', 'a.html', 'a.css', 'a.sql']) highlight(line, languageOf(path));
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

describe('rows of a diff', () => {
  const line = (text: string) => ({
    kind: ({ '+': 'added', '-': 'removed', ' ': 'same' } as const)[text[0] as '+'],
    text: text.slice(1),
  });
  const hunk = (...lines: string[]) => ({ oldStart: 10, newStart: 20, heading: '', lines: lines.map(line) });

  test('lines are numbered, paired, and their changed parts marked', () => {
    const pairs = pairsOf(hunk(' a', '-the old line', '-gone', '+the new line', ' b'));
    expect(
      pairs.map((pair) => pair.map((side) => side && [side.oldNumber, side.newNumber, side.text, side.changed])),
    ).toEqual([
      [
        [10, 20, 'a', null],
        [10, 20, 'a', null],
      ],
      [
        [11, null, 'the old line', [4, 7]],
        [null, 21, 'the new line', [4, 7]],
      ],
      [[12, null, 'gone', null], null],
      [
        [13, 22, 'b', null],
        [13, 22, 'b', null],
      ],
    ]);
  });

  test('a unified diff has all lines in their order', () => {
    const lines = [' a', '-b', '-c', '+d', '+e', '+f', ' g', '+h', ' i'];
    const signs = { same: ' ', added: '+', removed: '-' };
    expect(unifiedOf(pairsOf(hunk(...lines))).map(({ kind, text }) => `${signs[kind]}${text}`)).toEqual(lines);
  });
});
