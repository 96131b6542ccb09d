import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { applyArchive, planArchive } from '../../../../src/changes/archive/archive.ts';
import type { Change } from '../../../../src/changes/source.ts';
import { changeOf } from '../../../../src/changes/sources.ts';
import { validateChange } from '../../../../src/changes/validate.ts';
import { cases, type SpecCase, standardFiles, standardMain } from '../../../fixtures/openspec/cases.mjs';

/** What OpenSpec did with the same changes, recorded by scripts/record-openspec.mjs. */
interface Recorded {
  readonly validate: number;
  readonly strict: number;
  readonly archive: number;
  readonly specs: Readonly<Record<string, string>>;
}

const { version, cases: recorded } = JSON.parse(
  readFileSync(new URL('../../../fixtures/openspec/recorded.json', import.meta.url), 'utf8'),
) as { version: string; cases: Record<string, Recorded> };

interface Difference {
  /** What Spool does instead. */
  readonly does: Partial<Omit<Recorded, 'specs'>> & { readonly auth?: (recorded: string) => string };
  readonly reason: string;
}

const openBlock: Difference = {
  does: { validate: 1, strict: 1, archive: 1 },
  reason: 'Everything behind an open code block would be hidden in the main spec, and lost with the next merge.',
};

const otherSettings: Difference = {
  does: { validate: 0, strict: 0, archive: 0 },
  reason: 'Of the settings, only the two switches are about the specs.',
};

/** Where Spool differs on purpose. docs/specs.md lists the same. */
const differences: Readonly<Record<string, Difference>> = {
  'main with BOM': {
    does: { auth: (text) => `\uFEFF${text}` },
    reason: 'What the delta is not about keeps its bytes, a byte order mark included.',
  },
  'main with runs of blank lines': {
    does: { auth: (text) => withRuns(text) },
    reason: 'What the delta is not about keeps its bytes, blank lines included.',
  },
  'mixed line endings': {
    does: { auth: (text) => withMixedEnds(text) },
    reason: 'What the delta is not about keeps its bytes, line endings included.',
  },
  'scenario without a blank in the main spec, dropped': {
    does: { validate: 1, strict: 1, archive: 1 },
    reason: 'Whatever a person reads as a scenario is not dropped silently.',
  },
  'open fence': openBlock,
  'open fence behind a modified requirement': openBlock,
  'open fence in an added requirement, no main spec': openBlock,
  'open fence outside of the requirements': openBlock,
  'skip_specs with a wrong day': otherSettings,
  'skip_specs with an unknown schema': otherSettings,
};

const newRequirement = '### Requirement: New';

/** Three line ends wherever the main spec of the case has them. */
const withRuns = (text: string): string => {
  const [before, after] = text.split(newRequirement);
  return `${before!.slice(0, -1).replaceAll('\n\n', '\n\n\n')}\n${newRequirement}${after}`;
};

/** The second requirement of the case ends its lines with LF. */
const withMixedEnds = (text: string): string => {
  const start = text.indexOf('### Requirement: Logout');
  const end = text.indexOf('\r\n\r\n### Requirement: New');
  return `${text.slice(0, start)}${text.slice(start, end).replaceAll('\r\n', '\n')}${text.slice(end)}`;
};

const createTree = (given: SpecCase, base: string) => {
  const { main = standardMain, mains = {}, delta = null, files = {}, settings, settingsFile } = given;
  const root = mkdtempSync(join(tmpdir(), 'spool-specs-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  mkdirSync(join(root, '.spool/.state'), { recursive: true });
  const specs = { ...(main === null ? {} : { auth: main }), ...mains };
  for (const [name, text] of Object.entries(specs)) write(`${base}/specs/${name}/spec.md`, text);
  const all = { ...standardFiles, ...(delta === null ? {} : { 'specs/auth/spec.md': delta }), ...files };
  for (const [name, text] of Object.entries(all)) write(`${base}/changes/c1/${name}`, text);
  const ownSettings = settings === undefined ? settingsFile : `schema: spec-driven\n${settings}\n`;
  if (ownSettings !== undefined) write(`${base}/changes/c1/.${base.replace('.', '')}.yaml`, ownSettings);
  return root;
};

const mainSpecs = (root: string, base: string): Record<string, string> => {
  const folder = join(root, base, 'specs');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('spec.md'));
  return Object.fromEntries(names.toSorted().map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
};

/** The change, judged like one of OpenSpec, which must have specs. */
const strictChange = async (root: string): Promise<Change> => {
  const change = await changeOf({ root }, 'c1');
  return { ...change, specs: { ...change.specs!, isRequired: true, needsSchema: true } };
};

const outcomeOf = async (given: SpecCase, base: string): Promise<Recorded> => {
  const root = createTree(given, base);
  mkdirSync(join(root, base, 'specs'), { recursive: true });
  const change = await strictChange(root);
  const levels = new Set(validateChange(change, root).map(({ level }) => level));
  const plan = planArchive({ root }, change, { mergeSpecs: true });
  if (!('errors' in plan)) applyArchive({ root }, { HOME: join(root, 'home') }, plan);
  return {
    validate: levels.has('error') ? 1 : 0,
    strict: levels.has('error') || levels.has('warning') ? 1 : 0,
    archive: 'errors' in plan ? 1 : 0,
    specs: mainSpecs(root, base),
  };
};

test('the recording is of the version that is installed, and has every case', () => {
  const installed = JSON.parse(readFileSync('node_modules/@fission-ai/openspec/package.json', 'utf8')) as {
    version: string;
  };
  expect(installed.version).toBe(version);
  expect(Object.keys(recorded)).toEqual(cases.map(({ name }) => name));
});

/** What Spool must do with a case. */
const expectedOf = ({ name, main = standardMain }: SpecCase): Recorded => {
  const expected = recorded[name]!;
  const { auth, ...verdicts } = differences[name]?.does ?? {};
  const specs = auth ? { ...expected.specs, 'auth/spec.md': auth(expected.specs['auth/spec.md']!) } : expected.specs;
  if (verdicts.archive === 1) return { ...expected, ...verdicts, specs: main === null ? {} : { 'auth/spec.md': main } };
  return { ...expected, ...verdicts, specs };
};

test.each(cases.map((each) => [each.name, each] as const))('%s', async (_, given) => {
  expect(await outcomeOf(given, '.spool')).toEqual(expectedOf(given));
});

test('specs below another folder are merged by the same rules', async () => {
  for (const given of cases)
    expect([given.name, await outcomeOf(given, 'openspec')]).toEqual([given.name, expectedOf(given)]);
});

test.each(['openspec', 'openspec/specs', 'openspec/specs/auth', 'openspec/specs/auth/spec.md', 'openspec/changes'])(
  'a link in the place of %s is not followed',
  async (path) => {
    const root = createTree(
      cases.find(({ name }) => name === 'modified in place')!,
      'openspec',
    );
    const elsewhere = mkdtempSync(join(tmpdir(), 'spool-elsewhere-'));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    const change = await strictChange(root);
    renameSync(join(root, path), join(elsewhere, 'moved'));
    symlinkSync(join(elsewhere, 'moved'), join(root, path));
    expect(() => validateChange(change, root)).toThrow('is a symbolic link');
    expect(() => planArchive({ root }, change, { mergeSpecs: true })).toThrow('is a symbolic link');
  },
);
