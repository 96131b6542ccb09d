import { userError } from '../errors.ts';
import { readText } from '../files/read.ts';
import { configFile, configPath } from '../store/paths.ts';
import type { Project } from '../store/project.ts';
import { isObject, parseJson } from '../text/shape.ts';

export interface SourceFolder {
  /** The default. */
  readonly folder: string;
  /** Whether a finished change can be archived. Otherwise it stays where it is. */
  readonly hasArchive: boolean;
}

/** The sources by name, in the order in which their changes are listed. */
export const defaultFolders = {
  spool: { folder: '.spool', hasArchive: true },
  openspec: { folder: 'openspec', hasArchive: true },
  ito: { folder: '.ito', hasArchive: true },
  'spec-kit': { folder: 'specs', hasArchive: false },
  kiro: { folder: '.kiro', hasArchive: false },
} as const satisfies Record<string, SourceFolder>;

export type SourceName = keyof typeof defaultFolders;

/** Task files have no archive. */
export const hasArchive = (source: string): boolean =>
  Object.hasOwn(defaultFolders, source) && defaultFolders[source as SourceName].hasArchive;

export const sourceNames: readonly SourceName[] = Object.keys(defaultFolders) as SourceName[];

/** Where the sources of a project are: the default folders, or those in `"sources": { "openspec": ".openspec" }`. */
export const sourceFolders = (project: Project): Readonly<Record<SourceName, string>> => {
  const config = parseJson((readText(configFile(project)) ?? '').replace(/^\uFEFF/, ''));
  const sources = isObject(config) ? config.sources : undefined;
  const problem = sourcesProblem(sources);
  if (problem !== null) throw userError('bad-config', configPath, problem);
  const configured = (sources ?? {}) as Partial<Record<SourceName, string>>;
  const folders = sourceNames.map((name) => [name, configured[name] ?? defaultFolders[name].folder]);
  return Object.fromEntries(folders) as Record<SourceName, string>;
};

/** What is wrong with the value of `sources` in config.json; null if nothing is. */
export const sourcesProblem = (sources: unknown): string | null => {
  if (sources === undefined) return null;
  const names: readonly string[] = sourceNames.filter((name) => name !== 'spool');
  if (!isObject(sources)) return `"sources" must be an object that maps ${names.join(', ')} to a folder`;
  const unknown = Object.keys(sources).find((name) => !names.includes(name));
  if (unknown !== undefined) return `"sources.${unknown}" is not known. Sources: ${names.join(', ')}`;
  const wrong = Object.entries(sources).find(([, folder]) => !isInside(folder));
  return wrong === undefined ? null : `"sources.${wrong[0]}" must be a folder in the project, such as "docs/specs"`;
};

const isInside = (folder: unknown): boolean =>
  typeof folder === 'string' && /^[^/\\\0]+(?:\/[^/\\\0]+)*$/.test(folder) && !folder.split('/').includes('..');
