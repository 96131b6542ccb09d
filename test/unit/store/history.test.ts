import * as fc from 'fast-check';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { lastRecords, linesFromEnd } from '../../../src/store/history.ts';
import { recordWith } from '../ralph/records.ts';

const folder = mkdtempSync(join(tmpdir(), 'spool-history-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fileWith = (text: string | Buffer): string => {
  const file = join(folder, 'lines');
  writeFileSync(file, text);
  return file;
};

test('lines are read unchanged, the last one first, for any block boundaries', () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' ')),
    fc.integer({ min: 16_370, max: 16_400 }).map((length) => 'é'.repeat(length)),
    fc.constantFrom('', 'x'.repeat(16 * 1024), 'y'.repeat(50_000)),
  );
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
      expect([...linesFromEnd(fileWith(lines.join('\n')), Infinity)]).toEqual(lines.toReversed());
    }),
  );
});

test('a long line is copied once, not once per block', () => {
  const size = 8 * 1024 * 1024;
  const file = fileWith(Buffer.alloc(size, 'x'));
  const concat = vi.spyOn(Buffer, 'concat');

  expect([...linesFromEnd(file, Infinity)].map((line) => line?.length)).toEqual([size]);

  const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
  concat.mockRestore();
  expect(copied).toBeLessThanOrEqual(size);
});

test('no more than the given number of bytes is read, and null stands for the rest', () => {
  const file = fileWith(`first\n${'x'.repeat(40_000)}\nlast`);

  expect([...linesFromEnd(file, 20_000)]).toEqual(['last', null]);
  expect([...linesFromEnd(file, 60_000)].at(-1)).toBe('first');
});

const project = { root: join(folder, 'project') };
const history = join(project.root, '.spool/.state/ralph/x/history.jsonl');
const [first, second, third] = [1, 2, 3].map((iteration) => JSON.stringify(recordWith({ iteration })));

const recordsOf = (text: string) => {
  mkdirSync(dirname(history), { recursive: true });
  writeFileSync(history, text);
  return iterationsIn(lastRecords(project, 'x', 10));
};

const iterationsIn = ({ records, isCut }: ReturnType<typeof lastRecords>) => ({
  iterations: records.map(({ iteration }) => iteration),
  isCut,
});

test('a line that is too long for a record is skipped, and the others are read', () => {
  const long = second!.replace('"a.txt"', `"${'x'.repeat(17 * 1024 * 1024)}"`);

  expect(recordsOf(`${first}\n${long}\n${third}\n`)).toEqual({ iterations: [1, 3], isCut: false });
});

test.each([
  ['blank lines', '\n'],
  ['lines that are not JSON', 'x\n'],
  ['lines that begin like a record', '{"v":2,\n'],
  ['lines that are other JSON', '{}\n'],
])('records before a million %s are not looked for', (_, line) => {
  expect(recordsOf(`${first}\n${line.repeat(1_000_000)}${second}\n`)).toEqual({ iterations: [2], isCut: true });
  expect(recordsOf(`${first}\n${line.repeat(1000)}${second}\n`)).toEqual({ iterations: [1, 2], isCut: false });
});

test('records before a large hole are not looked for', () => {
  recordsOf(`${first}\n`);
  truncateSync(history, 2 * 1024 ** 3);
  appendFileSync(history, `\n${second}\n`);

  expect(iterationsIn(lastRecords(project, 'x', 10))).toEqual({ iterations: [2], isCut: true });
});
