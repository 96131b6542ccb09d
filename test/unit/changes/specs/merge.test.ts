import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDelta } from '../../../../src/changes/specs/delta.ts';
import { parseMainSpec } from '../../../../src/changes/specs/main-spec.ts';
import { rawOf } from '../../../../src/changes/specs/lines.ts';
import { type Merge, mergeSpec } from '../../../../src/changes/specs/merge.ts';
import { checkDelta } from '../../../../src/changes/specs/validate.ts';

const merge = (main: string | null, delta: string, retire = false): Merge =>
  mergeSpec({ capability: 'auth', change: 'c1', main, delta, retire });

const requirement = (name: string, text: string, scenarios: readonly string[]) =>
  [
    `### Requirement: ${name}`,
    '',
    `It SHALL ${text}.`,
    ...scenarios.flatMap((each) => ['', `#### Scenario: ${each}`, '', '- **THEN** it works']),
    '',
  ].join('\n');

const head =
  '# auth Specification\n\n## Purpose\n\nUsers log in and out, and nobody else does it in their name.\n\n## Requirements\n\n';

const names = ['Alpha', 'Beta', 'Gamma', 'Delta', 'Epsilon', 'Zeta'];
const someNames = (min = 0) => fc.uniqueArray(fc.constantFrom(...names), { minLength: min });
const scenarios = fc.uniqueArray(fc.constantFrom('One', 'Two', 'Three'), { minLength: 1 });
const words = fc.constantFrom(
  'work',
  'stay',
  'go',
  'work\n\n\nwell',
  'show `## x`\n\n```\n## Not a section\n\n\n```\n\nand more',
);

/** A main spec of some requirements, with text of any form around them. */
const mainSpecs = fc
  .record({
    names: someNames(1),
    word: words,
    scenarios,
    preamble: fc.constantFrom('', 'All of these hold.\n\n', '\n\n\n'),
    tail: fc.constantFrom('', '\n## Notes\n\n\n\nKeep  this.\n', '\n# Appendix\n', '\n\n\n'),
    end: fc.constantFrom('\n', '\r\n'),
    mark: fc.constantFrom('', '\uFEFF'),
  })
  .map(({ names: found, word, scenarios: own, preamble, tail, end, mark }) => ({
    names: found,
    scenarios: own,
    text: `${mark}${`${head}${preamble}${found.map((name) => requirement(name, word, own)).join('\n')}${tail}`.replaceAll('\n', end)}`,
  }));

/** A main spec, and a delta that mostly fits it: renames, removals, changes and additions of different requirements. */
const merges = mainSpecs.chain((main) =>
  fc
    .record({
      order: fc.shuffledSubarray([...main.names], { minLength: main.names.length }),
      cuts: fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2)),
      added: fc.uniqueArray(fc.constantFrom('New', 'Newer', ...names), { maxLength: 2 }),
      word: words,
      more: fc.boolean(),
      end: fc.constantFrom('\n', '\r\n'),
    })
    .map(({ order, cuts: [renamed, removed, modified], added, word, more, end }) => {
      const old = order.slice(0, renamed);
      const gone = order.slice(renamed, renamed + removed);
      const other = order.slice(renamed + removed, renamed + removed + modified);
      const delta = [
        ...(old.length > 0 ? ['## RENAMED Requirements\n'] : []),
        ...old.map((name) => `- FROM: \`### Requirement: ${name}\`\n- TO: \`### Requirement: ${name} Two\`\n`),
        ...(gone.length > 0 ? ['## REMOVED Requirements\n', ...gone.map((name) => `### Requirement: ${name}\n`)] : []),
        ...(other.length > 0 ? ['## MODIFIED Requirements\n'] : []),
        ...other.map((name) => requirement(name, word, more ? [...main.scenarios, 'More'] : main.scenarios)),
        ...(added.length > 0
          ? ['## ADDED Requirements\n', ...added.map((name) => requirement(name, word, ['One']))]
          : []),
      ].join('\n');
      return {
        main,
        delta: delta.replaceAll('\n', end),
        touched: new Set([...old, ...gone, ...other, ...added]),
        usesOldName: added.some((name) => old.includes(name)),
      };
    }),
);

describe('merging', () => {
  test('a delta again changes no byte, and is rejected if it does not show whether a rename is done', () => {
    let written = 0;
    fc.assert(
      fc.property(merges, ({ main, delta, usesOldName }) => {
        const first = merge(main.text, delta);
        if (first.kind !== 'written') return;
        written++;
        expect(merge(first.text, delta).kind).toBe(usesOldName ? 'refused' : 'unchanged');
      }),
      { numRuns: 500 },
    );
    expect(written).toBeGreaterThan(50);
  });

  test('keeps every byte that the delta is not about', () => {
    fc.assert(
      fc.property(merges, ({ main, delta, touched }) => {
        const merged = merge(main.text, delta);
        if (merged.kind !== 'written') return;
        const [before, after] = [parseMainSpec(main.text), parseMainSpec(merged.text)];
        const trimmed = (text: string) => text.replace(/[\r\n]*$/, '');
        expect(trimmed(rawOf(after.head))).toBe(trimmed(rawOf(before.head)));
        expect(trimmed(rawOf(after.tail))).toBe(trimmed(rawOf(before.tail)));
        const kept = before.requirements.filter(({ name }) => !touched.has(name));
        for (const { name, lines } of kept) {
          const now = after.requirements.find((each) => each.name === name);
          expect(trimmed(rawOf(now!.lines))).toBe(trimmed(rawOf(lines)));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('never loses a scenario of a requirement that is not removed', () => {
    fc.assert(
      fc.property(mainSpecs, fc.constantFrom(...names), scenarios, (main, name, own) => {
        const merged = merge(main.text, `## MODIFIED Requirements\n\n${requirement(name, 'differ', own)}`);
        const isComplete = main.names.includes(name) && main.scenarios.every((each) => own.includes(each));
        expect(merged.kind).toBe(isComplete ? 'written' : 'refused');
      }),
    );
  });

  test('is rejected if a code block is not closed, in the delta or in the main spec', () => {
    const main = `${head}${requirement('Login', 'work', ['One'])}`;
    const more = requirement('New', 'work', ['One']);
    const refusal = (file: string, line: number) => ({
      kind: 'refused',
      refusals: [{ file, line, message: expect.stringContaining('code block is not closed') as string }],
    });
    expect(merge(main, `## ADDED Requirements\n\n${more}\n\`\`\`\n`)).toMatchObject(refusal('delta', 11));
    expect(merge(`${main}\n~~~\n\n## Notes\n\nKeep me.\n`, `## ADDED Requirements\n\n${more}`)).toMatchObject(
      refusal('main', 17),
    );
  });

  test('names the file and the line of every problem', () => {
    const main = `${head}${requirement('Login', 'work', ['One', 'Two'])}`;
    const delta = `## MODIFIED Requirements\n\n${requirement('Login', 'work', ['One'])}\n${requirement('login', 'work', ['One'])}`;
    expect(merge(main, delta)).toMatchObject({
      kind: 'refused',
      refusals: [
        { file: 'delta', line: 3, dropsScenario: true },
        { file: 'delta', line: 11, message: expect.stringContaining('did you mean "Login"?') as string },
      ],
    });
  });

  test('deletes a spec again without complaint', () => {
    const delta = '## REMOVED Requirements\n\n### Requirement: Login\n';
    expect(merge(`${head}${requirement('Login', 'work', ['One'])}`, delta, true)).toMatchObject({ kind: 'deleted' });
    expect(merge(null, delta, true)).toMatchObject({ kind: 'unchanged' });
  });
});

describe('any text', () => {
  const line = fc.constantFrom(
    '## ADDED Requirements',
    '## MODIFIED Requirements',
    '## REMOVED Requirements',
    '## RENAMED Requirements',
    '## Requirements',
    '## Purpose',
    '### Requirement: A',
    '### Requirement: a ##',
    '### Requirement:',
    '### Other',
    '#### Scenario: S',
    '- FROM: `### Requirement: A`',
    '- TO: `### Requirement: B`',
    '- `### Requirement: A`',
    '```',
    '~~~~',
    'It SHALL work.',
    '',
    '\t',
    '\uFEFF',
  );
  const texts = fc.oneof(
    fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r', ''))).map((all) => all.flat().join('')),
    fc.string({ unit: 'binary' }),
  );

  test('is parsed, and the parts of a main spec are the whole of it', () => {
    fc.assert(
      fc.property(texts, (text) => {
        parseDelta(text);
        const { head: start, requirements, tail } = parseMainSpec(text);
        expect(rawOf([...start, ...requirements.flatMap(({ lines }) => lines), ...tail])).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test('is merged or rejected, and merging it again changes nothing', () => {
    fc.assert(
      fc.property(fc.option(texts), texts, fc.boolean(), (main, delta, retire) => {
        const merged = merge(main, delta, retire);
        checkDelta({ capability: 'auth', file: 'a', mainFile: 'b', text: delta, main }, { change: 'c1', retire });
        if (merged.kind === 'written')
          expect(merge(merged.text, delta, retire).kind).toMatch(/^(?:unchanged|refused)$/);
      }),
      { numRuns: 2000 },
    );
  });
});
