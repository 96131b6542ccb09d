import * as fc from 'fast-check';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
      expect([...linesFromEnd(fileWith(lines.join('\n')))]).toEqual(lines.toReversed());
    }),
  );
});

test('a long line is copied once, not once per block', () => {
  const size = 8 * 1024 * 1024;
  const file = fileWith(Buffer.alloc(size, 'x'));
  const concat = vi.spyOn(Buffer, 'concat');

  expect([...linesFromEnd(file)].map(({ length }) => length)).toEqual([size]);

  const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
  concat.mockRestore();
  expect(copied).toBeLessThanOrEqual(size);
});

test('a line that is too long for a record is skipped, and the others are read', async () => {
  const project = { root: join(folder, 'project') };
  const file = join(project.root, '.spool/.state/ralph/x/history.jsonl');
  const records = [1, 2, 3].map((iteration) => recordWith({ iteration }));
  const [first, second, third] = records.map((record) => JSON.stringify(record));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${first}\n${second!.replace('"a.txt"', `"${'x'.repeat(17 * 1024 * 1024)}"`)}\n${third}\n`);

  expect((await lastRecords(project, 'x', 10)).map(({ iteration }) => iteration)).toEqual([1, 3]);
});
