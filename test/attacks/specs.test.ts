import { describe, expect, test } from 'vitest';
import { checkDamagedSpec, checkVanishingSpec, damagedSpecs, sources } from '../support/damaged-specs.ts';

/** Some of the damages, each of another file. The trials have all of them. */
const sampled = [
  'CRLF line endings',
  'control sequences',
  'an alias bomb',
  'deep YAML in the front matter',
  'JSON of the wrong types',
  '20 MB',
  'a FIFO',
  'a folder',
  'a link to a file outside',
  'a link in place of its folder',
  'names with control characters beside it',
].map((damage, index) => {
  const cases = damagedSpecs.filter((each) => each.damage === damage);
  return cases[(index * 7) % cases.length]!;
});

describe('a file of another tool that is damaged or hostile is answered with one line, or does no harm', () => {
  test.each(sampled)('$damage in place of $file', checkDamagedSpec);

  test('every source is among them', () => {
    expect(new Set(sampled.map(({ source }) => source))).toEqual(new Set(sources));
  });
});

test('a change whose folder vanishes and reappears causes no crash', () => checkVanishingSpec('openspec'));
