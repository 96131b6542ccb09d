import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/project.ts';

interface Requirement {
  readonly requirement: string;
  readonly scenarios: readonly string[];
}

const filesIn = (folder: string, ending: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'));

const specified = filesIn('specs', '.md')
  .flatMap((text) => text.split(/^### Requirement: /m).slice(1))
  .map((section): Requirement => ({
    requirement: section.split('\n')[0]!,
    scenarios: [...section.matchAll(/^#### Scenario: (.*)$/gm)].map((match) => match[1]!),
  }));

const tested = filesIn('test/scenarios', '.test.ts')
  .map((text) => ({
    requirements: [...text.matchAll(/^describe\('Requirement: (.*)', /gm)].map((match) => match[1]!),
    scenarios: [...text.matchAll(/^ {2}test\('(.*)', /gm)].map((match) => match[1]!),
  }))
  .filter((file) => file.requirements.length > 0);

const sorted = (requirements: readonly Requirement[]) =>
  requirements.toSorted((a, b) => a.requirement.localeCompare(b.requirement));

test('the specification has thirty scenarios with unique names', () => {
  const names = specified.flatMap((requirement) => requirement.scenarios);
  expect(names).toHaveLength(30);
  expect(new Set(names).size).toBe(30);
});

test('every scenario has a test with its name, and every requirement has a file', () => {
  expect(tested.filter((file) => file.requirements.length > 1)).toEqual([]);
  const fromTests = tested.map((file) => ({ requirement: file.requirements[0]!, scenarios: file.scenarios }));
  expect(sorted(fromTests)).toEqual(sorted(specified));
});
