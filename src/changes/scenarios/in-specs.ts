import { operationOf } from '../specs/delta.ts';
import { levelOf, type Requirement, requirementsIn, sectionsIn, scenarioName } from '../specs/headings.ts';
import type { Line } from '../specs/lines.ts';
import { shownLines } from '../tasks/visible-lines.ts';
import type { Criterion } from './criterion.ts';
import { givenPart, slugOf, splitGivenId } from './slug.ts';
import { criterionText } from './text-hash.ts';
import { verifyCommand } from './verify-lines.ts';

export interface SpecText {
  /** The capability: the path of the spec below the folder of the specs, without `/spec.md`. */
  readonly capability: string;
  readonly path: string;
  readonly text: string;
}

/**
 * The scenarios of a spec, which may be the delta of a change or a main spec. Those of removed requirements are left out.
 * Requirements outside of delta sections count, although they are not merged: a scenario that is written down has to be
 * proven.
 */
export const scenariosInSpec = ({ capability, path, text }: SpecText): Criterion[] =>
  sectionsIn(linesIn(text))
    .filter((section) => operationOf(section) !== 'REMOVED')
    .flatMap(({ lines }) => requirementsIn(lines).requirements)
    .flatMap((requirement) => scenariosOfRequirement(requirement, { capability, path }));

/** Without comments. Otherwise as `readLines`, but a code block that is not closed is none, so it hides no scenario. */
const linesIn = (text: string): Line[] =>
  shownLines(text).map(({ index, line, isCode }) => ({ text: line, raw: `${line}\n`, number: index + 1, isCode }));

const scenariosOfRequirement = (
  { name, lines }: Requirement,
  { capability, path }: Omit<SpecText, 'text'>,
): Criterion[] => {
  const starts = lines.flatMap((line, index) => (scenarioName(line) === null ? [] : [index]));
  const given = splitGivenId(name);
  const requirementId = fieldIn(lines.slice(1, starts[0] ?? lines.length), 'Requirement ID') ?? given.id;
  const folders = capability.split('/').map(slugOf);
  const above = requirementId === null ? [...folders, slugOf(name)] : [givenPart(requirementId)];
  const names = [name, `${capability}: ${name}`, ...(requirementId === null ? [] : [requirementId])];
  return starts.map((start, at) => {
    const title = scenarioName(lines[start]!)!;
    const body = bodyOf(lines.slice(start + 1, starts[at + 1] ?? lines.length));
    const split = splitGivenId(title);
    const id = fieldIn(body, 'Scenario ID') ?? split.id;
    return {
      parts: id === null ? [...above, slugOf(title)] : [givenPart(id)],
      title: split.rest,
      requirement: name,
      text: criterionText(
        title,
        body.map((line) => ({ line: line.text, isCode: line.isCode })),
      ),
      path,
      line: lines[start]!.number,
      verify: body.flatMap((line) => (line.isCode ? [] : (verifyCommand(line.text) ?? []))),
      names,
    };
  });
};

/** Up to a heading above the level of scenarios. */
const bodyOf = (lines: readonly Line[]): readonly Line[] => {
  const end = lines.findIndex((line) => (levelOf(line) ?? Infinity) < 4);
  return end === -1 ? lines : lines.slice(0, end);
};

/** The value of a line such as `- **Requirement ID**: auth:login`; null if there is none. */
const fieldIn = (lines: readonly Line[], name: string): string | null => {
  for (const { text, isCode } of lines) {
    const [, label = '', value = ''] = isCode ? [] : (field.exec(text) ?? []);
    const plain = value.replaceAll('`', '').trim();
    if (label.toLowerCase() === name.toLowerCase() && plain !== '') return plain;
  }
  return null;
};

const field = /^\s*(?:[-*+]\s+)?\*\*([^*:]{1,40}):?\*\*:?\s(.*)$/s;
