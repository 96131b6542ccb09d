import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type FoundPattern, patternsInSource, recordPatterns } from './patterns.ts';
import { findSlow } from './find-slow.ts';

const { literals, built } = patternsInSource();

/** Patterns that are built when a module is loaded or when one of these functions is called. */
const recordBuilt = async (): Promise<FoundPattern[]> => {
  const found: FoundPattern[] = [];
  const stop = recordPatterns((pattern) => found.push(pattern));
  try {
    for (const file of new Set(built.map((where) => where.split(':')[0]!))) await import(resolve(file));
    const { judgeEnding, tagOnly } = await import('../../src/ralph/promise/judge-ending.ts');
    judgeEnding('<promise>COMPLETE</promise>', { text: 'COMPLETE', tagName: 'promise' }, tagOnly);
    const { hasShape, shapes, shapeSpansIn } = await import('../../src/secrets/shapes.ts');
    for (const { starts, needs = '' } of shapes) for (const start of starts) hasShape(`${start}${needs}`);
    shapeSpansIn('');
    const { isBox } = await import('../../src/changes/tasks/parse.ts');
    isBox('- [\u2714] beyond ASCII');
    const { resetTime } = await import('../../src/harness/reset-time.ts');
    resetTime('resets 3pm', new Date());
    const { fitting, filesNamed } = await import('../../src/guard/deciders/scope.ts');
    fitting('a*b?c*');
    const files = { read: () => null, isFile: () => false, list: () => [] };
    const scope = { files, cwd: '.', start: '.', folders: [], variables: new Map(), piped: [] };
    filesNamed({ ...scope, found: () => {}, follow: () => {}, followProgram: () => {} }, ['$A/b/$C']);
    const { mergeFiles } = await import('../../src/git/merge.ts');
    const [base, mine, theirs] = ['a\n', 'b\n', 'c\n'].map((text) => Buffer.from(text));
    await mergeFiles({ base: base!, mine: mine!, theirs: theirs! }, { additions: true });
  } finally {
    stop();
  }
  return found;
};

const describeSlow = (patterns: readonly FoundPattern[]): string[] =>
  patterns.flatMap((pattern) => {
    const slow = findSlow(pattern);
    if (slow === null) return [];
    const { attack, msAtN, msAt4N } = slow;
    return [`${pattern.where} ${msAtN} ms, then ${msAt4N} ms with ${JSON.stringify(attack)}: /${pattern.source}/`];
  });

test('every regular expression in src is linear on hostile input, at n and at 4 n', () => {
  expect(literals.length).toBeGreaterThan(400);
  expect(describeSlow(literals)).toEqual([]);
});

test('every built regular expression is linear, and all of them are covered', async () => {
  const found = await recordBuilt();
  const seen = new Set(found.map(({ where }) => where));
  expect(built.filter((where) => !seen.has(where))).toEqual([]);
  const different = new Map(found.map((pattern) => [`/${pattern.source}/${pattern.flags}`, pattern]));
  // The redactor's pattern for all shapes. Each shape also has its own.
  for (const [key, { source }] of different) if (/ghp_.*eyJ/.test(source)) different.delete(key);
  expect(describeSlow([...different.values()])).toEqual([]);
});

test('a pattern that is not linear is detected', () => {
  const slow = (source: string, flags = '') => findSlow({ source, flags }) !== null;
  expect(slow(String.raw`\s+$`)).toBe(true);
  expect(slow(String.raw`^(a+)+$`)).toBe(true);
  expect(slow('<!--[^]*?-->', 'g')).toBe(true);
  expect(slow(String.raw`eyJ[\w-]{10,}\.eyJ`, 'g')).toBe(true);
  expect(slow(String.raw`(?<!\s)\s+$`)).toBe(false);
});
