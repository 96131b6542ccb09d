import { expect, test } from 'vitest';
import { differsByTrailer, withScenariosTrailer } from '../../../../src/run/work/trailers.ts';

test.each([
  ['a subject', 'Add it\n', 'Add it\n\nScenarios: 3/3 proven\n'],
  ['a subject like a trailer', 'Scenarios: none\n', 'Scenarios: none\n\nScenarios: 3/3 proven\n'],
  [
    'a body',
    'Add it\n\nIt: is a text\nof two lines.\n',
    'Add it\n\nIt: is a text\nof two lines.\n\nScenarios: 3/3 proven\n',
  ],
  ['trailers', 'Add it\n\nA: b\nC-d: e\n', 'Add it\n\nA: b\nC-d: e\nScenarios: 3/3 proven\n'],
  ['other scenarios', 'Add it\n\nA: b\nScenarios: 1/3 proven\n', 'Add it\n\nA: b\nScenarios: 3/3 proven\n'],
  ['only other scenarios', 'Add it\n\nScenarios: 1/3 proven\n', 'Add it\n\nScenarios: 3/3 proven\n'],
  ['no line end', 'Add it', 'Add it\n\nScenarios: 3/3 proven\n'],
  ['nothing', '', '\n\nScenarios: 3/3 proven\n'],
])('adds the trailer to %s', (_, before, after) => {
  expect(withScenariosTrailer(before, '3/3 proven')).toBe(after);
  expect(withScenariosTrailer(after, '3/3 proven')).toBe(after);
  expect(differsByTrailer(before, after)).toBe(true);
});

test.each([
  ['Add it\n', 'Add it\n'],
  ['Add it\n', 'Add that\n\nScenarios: 3/3 proven\n'],
  ['Add it\n', 'Add it\n\nOther: 3/3 proven\n'],
  ['Add it\n', 'Add it\n\nScenarios: 3/3 proven\nOther: line\n'],
])('%j and %j do not differ by the trailer', (before, after) => {
  expect(differsByTrailer(before, after)).toBe(false);
});
