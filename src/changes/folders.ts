import { userError } from '../errors.ts';
import { readText } from '../files/read.ts';
import { configFile, configPath } from '../store/paths.ts';
import type { Project } from '../store/project.ts';
import { isObject, parseJson } from '../text/shape.ts';

/** The default folders of the sources, by name, in the order in which their changes are listed. */
export const defaultFolders = {
  spool: '.spool',
  openspec: 'openspec',
  ito: '.ito',
  'spec-kit': 'specs',
  kiro: '.kiro',
} as const;

export type SourceName = keyof typeof defaultFolders;

/** Whether a finished change can be archived. The others, and task files, stay where they are. */
export const hasArchive = (source: string): boolean => ['spool', 'openspec', 'ito'].includes(source);

export const sourceNames: readonly SourceName[] = Object.keys(defaultFolders) as SourceName[];

/** Where the sources of a project are: the default folders, or those in `"sources": { "openspec": ".openspec" }`. */
export const sourceFolders = (project: Project): Readonly<Record<SourceName, string>> => {
  const config = parseJson((readText(configFile(project)) ?? '').replace(/^\uFEFF/, ''));
  const sources = isObject(config) ? config.sources : undefined;
  const problem = sourcesProblem(sources);
  if (problem !== null) throw userError('bad-config', configPath, problem);
  return { ...defaultFolders, ...(sources as Partial<Record<SourceName, string>> | undefined) };
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
