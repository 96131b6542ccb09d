import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchId } from '../../../src/changes/ids.ts';
import { branchOf } from '../../../src/changes/branch.ts';
import { changeNumber, isSlug, moduleOf, toSlug } from '../../../src/changes/spool/ids.ts';

const ids = ['001-01_init', '002-01_add-loop', '002-02_add-status', '002-02_add-status-line'];

test('branches of different changes differ, and ordinary ones have the name of the change', () => {
  expect(branchOf('002-01_add-loop')).toBe('ralph/002-01_add-loop');
  const branches = ['c-2', 'c 2', 'c~2', 'kiro:x', 'kiro-x', 'a..b', 'a-b'].map(branchOf);
  expect(new Set(branches).size).toBe(branches.length);
  expect(branches.join('')).not.toMatch(/[\s~^:?*[\\]|\.\./);
});

describe('matchId', () => {
  test.each([
    ['001-01_init', { kind: 'one', id: '001-01_init' }],
    ['001', { kind: 'one', id: '001-01_init' }],
    ['002-01', { kind: 'one', id: '002-01_add-loop' }],
    ['002-02_add-status', { kind: 'one', id: '002-02_add-status' }],
    ['002-02_add-status-', { kind: 'one', id: '002-02_add-status-line' }],
    ['002', { kind: 'several', ids: ids.slice(1) }],
    ['002-02', { kind: 'several', ids: ids.slice(2) }],
    ['002-01_add-lop', { kind: 'none', near: '002-01_add-loop' }],
    ['add-loop', { kind: 'none', near: '002-01_add-loop' }],
    ['002-01_ADD-LOOP', { kind: 'none', near: '002-01_add-loop' }],
    ['something-else', { kind: 'none', near: null }],
    ['', { kind: 'none', near: null }],
    ['z', { kind: 'none', near: null }],
    ['/', { kind: 'none', near: null }],
    ['..', { kind: 'none', near: null }],
    ['../../etc/passwd', { kind: 'none', near: null }],
    ['002-01_add-loop/../../x', { kind: 'none', near: null }],
    ['\0', { kind: 'none', near: null }],
  ])('%j', (query, expected) => {
    expect(matchId(query, ids)).toEqual(expected);
  });

  test('takes a number without zeros for that number, not for the beginning of a longer one', () => {
    const known = ['001-01_first', '001-10_tenth', '001-11_eleventh'];
    expect(matchId('001-1', known)).toEqual({ kind: 'one', id: '001-01_first' });
    expect(matchId('1-1', known)).toEqual({ kind: 'one', id: '001-01_first' });
  });

  test('returns nothing without candidates', () => {
    expect(matchId('001', [])).toEqual({ kind: 'none', near: null });
  });

  const id = fc.oneof(fc.constantFrom(...ids), fc.stringMatching(/^\d{3}-\d{2}_[a-z]{1,8}$/));
  const given = fc.uniqueArray(id, { maxLength: 8 });
  const query = fc.oneof(
    fc.constantFrom('', '..', '../', './', '/', '\0', '001-01_init\0', '*', '.', ...ids.map((each) => `../${each}`)),
    fc.constantFrom(...ids).chain((each) => fc.nat(each.length).map((end) => each.slice(0, end))),
    fc.string(),
  );

  test('returns only given ids', () => {
    fc.assert(
      fc.property(query, given, (text, known) => {
        const match = matchId(text, known);
        const answers =
          match.kind === 'one' ? [match.id] : match.kind === 'several' ? match.ids : [match.near ?? []].flat();
        expect(answers.filter((answer) => !known.includes(answer))).toEqual([]);
        const padded = text.replaceAll(/^\d+/g, (part) => part.padStart(3, '0')).replace(/-(\d)$/, '-0$1');
        if (match.kind !== 'none')
          expect(answers.every((answer) => answer.startsWith(text) || answer.startsWith(padded))).toBe(true);
        if (match.kind === 'several') expect(answers.length).toBeGreaterThan(1);
      }),
      { numRuns: 1000 },
    );
  });

  test('prefers an exact id to those it is a prefix of', () => {
    fc.assert(
      fc.property(given, id, (others, exact) => {
        expect(matchId(exact, [`${exact}-more`, ...others, exact])).toEqual({ kind: 'one', id: exact });
      }),
    );
  });
});

describe('moduleOf', () => {
  test.each([
    ['002-01_add-loop', '002'],
    ['000-99_x', '000'],
    ['002-01', null],
    ['02-01_x', null],
    ['0002-01_x', null],
    ['002_ralph', null],
    ['x002-01_y', null],
    ['2026-01-02-002-01_x', null],
    ['', null],
  ])('%j → %j', (change, expected) => {
    expect(moduleOf(change)).toBe(expected);
  });
});

describe('changeNumber', () => {
  test.each([
    ['002-01_add-loop', '002', 1],
    ['002-10_x', '002', 10],
    ['2026-01-02-002-07_archived', '002', null],
    ['002-01_add-loop', '001', null],
    ['2026-01-02-002-07_archived', '026', null],
    ['add-loop', '002', null],
    ['002-1_x', '002', null],
  ])('%s in %s → %j', (name, module, expected) => {
    expect(changeNumber(name, module)).toBe(expected);
  });
});

describe('toSlug', () => {
  test.each([
    ['add-loop', 'add-loop'],
    ['Add the Loop!', 'add-the-loop'],
    ['  --a__b--  ', 'a-b'],
    ['Café Ångström', 'cafe-angstrom'],
    ['../../etc/passwd', 'etc-passwd'],
    ['v2', 'v2'],
    [`${'a'.repeat(79)} b`, 'a'.repeat(79)],
    ['日本', null],
    ['...', null],
    ['', null],
  ])('%j → %j', (text, expected) => {
    expect(toSlug(text)).toBe(expected);
  });

  test('is null or a slug, and a slug is unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const slug = toSlug(text);
        if (slug === null) return;
        expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
        expect(slug.length).toBeLessThanOrEqual(80);
        expect(toSlug(slug)).toBe(slug);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('isSlug', () => {
  test.each(['add-loop', 'a', '2', 'a-1-b', 'a'.repeat(80)])('accepts %s', (text) => {
    expect(isSlug(text)).toBe(true);
  });

  test.each(['', '-a', 'a-', 'a--b', 'A', 'a b', 'a_b', 'a/b', '..', 'a\n', 'é', 'a'.repeat(81)])(
    'rejects %j',
    (text) => {
      expect(isSlug(text)).toBe(false);
    },
  );
});
