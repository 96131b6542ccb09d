import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { entriesOf } from '../files/folders.ts';
import { checkInside, readInside, textInside } from '../files/inside.ts';
import { parseYaml } from '../text/yaml.ts';
import type { Change, SpecPaths } from './source.ts';
import { parseDelta } from './specs/delta.ts';
import type { DeltaFile, Issue } from './specs/validate.ts';

export interface ChangeSpecs {
  /** Sorted by capability. */
  readonly deltas: readonly DeltaFile[];
  /** About files that are not read. */
  readonly issues: readonly Issue[];
  /** Whether there is any file below the folder of the specs. */
  readonly hasFiles: boolean;
  readonly settings: SpecSettings;
}

/** What a change says about its specs. */
interface SpecSettings {
  /** It changes no spec on purpose. */
  readonly skip: boolean;
  /** It may delete main specs whose requirements it removes. */
  readonly retire: boolean;
  /** Why settings are not used. */
  readonly invalid: readonly { readonly line: number | null; readonly message: string }[];
}

/** Reads the specs of a change and the main specs that they are about. */
export const readSpecs = ({ specs }: Pick<Change, 'specs'>, root: string): ChangeSpecs => {
  if (specs === undefined) return { deltas: [], issues: [], hasFiles: false, settings: noSettings };
  const settings = readSettings(root, specs.settings);
  const found = filesIn(root, specs.delta);
  const read = found.map((entry) => readDelta(root, specs, entry));
  return {
    deltas: read.flatMap((each) => (each !== null && 'capability' in each ? [each] : [])),
    issues: read.flatMap((each) => (each !== null && 'level' in each ? [each] : [])),
    hasFiles: found.length > 0,
    settings,
  };
};

interface FoundFile {
  /** Relative to the folder, with `/`. */
  readonly name: string;
  readonly isLink: boolean;
}

/** The files below a folder of specs, sorted. Hidden folders are left out. */
const filesIn = (root: string, folder: string): FoundFile[] => {
  checkInside(root, folder);
  return entriesOf(join(root, folder))
    .filter(({ name }) => !name.startsWith('.'))
    .flatMap((entry): FoundFile[] => {
      if (!entry.isDirectory()) return [{ name: entry.name, isLink: entry.isSymbolicLink() }];
      return filesIn(root, join(folder, entry.name)).map((each) => ({ ...each, name: `${entry.name}/${each.name}` }));
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
};

/** Returns null for a file that is no spec. */
const readDelta = (root: string, specs: SpecPaths, { name, isLink }: FoundFile): DeltaFile | Issue | null => {
  const file = posix(join(specs.delta, name));
  const isDelta = name.endsWith('/spec.md');
  if (isLink) return isDelta ? problem(file, 'It is a link, which is not followed. Replace it with the file.') : null;
  if (!name.endsWith('.md')) return null;
  const text = readSpec(root, file);
  if (text === null) return null;
  if (!isDelta) return parseDelta(text).sections.length === 0 ? null : problem(file, misplaced(name));
  const capability = name.slice(0, -'/spec.md'.length);
  const mainFile = posix(join(specs.main, capability, 'spec.md'));
  return { capability, file, text, mainFile, main: readSpec(root, mainFile) };
};

const problem = (file: string, message: string): Issue => ({ level: 'error', file, line: null, message });

const misplaced = (name: string): string => {
  const capability =
    name === 'spec.md' ? '<capability>' : name.includes('/') ? name.replace(/\/[^/]*$/, '') : name.slice(0, -3);
  return `It is ignored: the spec of a capability is specs/${capability}/spec.md. Move its requirements there.`;
};

/** Returns null if there is no such file. Throws if it is not UTF-8, or if a link is in the way. */
export const readSpec = (root: string, file: string): string | null => {
  checkInside(root, file);
  const bytes = readInside(root, file);
  if (bytes === null) return null;
  if (!isUtf8(bytes)) throw userError('bad-encoding', file);
  return bytes.toString('utf8');
};

/** The paths of all main specs below a folder, relative to the root. */
export const mainSpecFiles = (root: string, folder: string): string[] =>
  filesIn(root, folder)
    .filter(({ name, isLink }) => !isLink && name.endsWith('/spec.md'))
    .map(({ name }) => posix(join(folder, name)));

const noSettings: SpecSettings = { skip: false, retire: false, invalid: [] };

const longestSettings = 64 * 1024;

const readSettings = (root: string, file: string): SpecSettings => {
  checkInside(root, file);
  const text = textInside(root, file, longestSettings);
  if (text === null) return noSettings;
  const values = parseYaml(text);
  const read = (name: string): Switch => {
    const line = lineOf(name, text);
    if (values === null)
      return { isOn: false, invalid: line === null ? [] : [{ line, message: 'The file is not valid YAML.' }] };
    const value = values[name] ?? false;
    if (typeof value === 'boolean') return { isOn: value, invalid: [] };
    return { isOn: false, invalid: [{ line, message: `"${name}" must be true or false.` }] };
  };
  const [skip, retire] = [read('skip_specs'), read('retire_capabilities')];
  return { skip: skip.isOn, retire: retire.isOn, invalid: [...skip.invalid, ...retire.invalid] };
};

interface Switch {
  readonly isOn: boolean;
  readonly invalid: SpecSettings['invalid'];
}

/** The number of the line that sets a key; null if none does. */
const lineOf = (name: string, text: string): number | null => {
  const lines = text.split(/\r\n?|\n/);
  const index = lines.findIndex((line) => /^\s*['"]?(\w+)['"]?\s*:/.exec(line)?.[1] === name);
  return index === -1 ? null : index + 1;
};

const posix = (path: string) => path.replaceAll('\\', '/');
