import { expect, test } from 'vitest';
import { parseJsonText } from '../../../src/text/json.ts';

const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;

test.each([
  ['a short text', nested(400)],
  ['a long text', `[${nested(400)},"${'x'.repeat(100_000)}"]`],
  ['a long text without an end', '['.repeat(16_000_000)],
])('%s that is nested too deeply is refused, and takes no time', (_, text) => {
  const startMs = performance.now();
  expect(() => parseJsonText(text)).toThrow('nested more than 200 levels deep');
  // It took seconds.
  expect(performance.now() - startMs).toBeLessThan(1000);
});

test.each([
  ['brackets in strings', { text: '[{"'.repeat(50_000) }],
  ['quotes and backslashes', { text: '\\"[\\\\"['.repeat(20_000), last: '\\' }],
  ['many values side by side', Array.from({ length: 20_000 }, (__, index) => [{ index }])],
])('a long text with %s is read', (_, value) => {
  expect(parseJsonText(JSON.stringify(value))).toEqual(value);
});
