import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { userError } from '../errors.ts';
import { entriesOf } from '../files/folders.ts';
import { checkInside, readInside } from '../files/inside.ts';
import type { Change, SpecPaths } from './source.ts';
import { noSettings, readSettings, type SpecSettings } from './spec-settings.ts';
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

/** Reads the specs of a change and the main specs that they are about. */
export const readSpecs = ({ specs }: Pick<Change, 'specs'>, root: string): ChangeSpecs => {
  if (specs === undefined) return { deltas: [], issues: [], hasFiles: false, settings: noSettings };
  const settings = readSettings(root, specs);
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

const posix = (path: string) => path.replaceAll('\\', '/');
