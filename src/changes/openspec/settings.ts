import { join } from 'node:path';
import { userError } from '../../errors.ts';
import { filesInside, isPresentInside, textInside } from '../../files/inside.ts';
import { parseYaml, textsIn } from '../../text/yaml.ts';

/** The settings of the project or of a change are short texts. */
const maxSettings = 1024 * 1024;

/** Both names are known to OpenSpec. The first one counts. */
export const configFiles = (base: string) => [join(base, 'config.yaml'), join(base, 'config.yml')] as const;
export const configFile = (root: string, base: string): string => {
  const [first, second] = configFiles(base);
  return isPresentInside(root, first) || !isPresentInside(root, second) ? first : second;
};
export const changeSettingsFile = (folder: string) => join(folder, '.openspec.yaml');

/** What the project says about every change; null if it says nothing. */
export const contextIn = (config: string): string | null => {
  const { context } = parseYaml(config) ?? {};
  return typeof context === 'string' && context.trim() !== '' ? context.trim() : null;
};

/** How the project wants changes to be implemented; null if it does not say. */
export const applyGuidanceIn = (config: string): string | null => {
  const operations = objectIn(parseYaml(config)?.operations);
  const guidance = textsIn(objectIn(operations.apply).guidance);
  return guidance.length === 0 ? null : guidance.map((line) => `- ${line.trim()}`).join('\n');
};

/**
 * Returns the task file that the schema of a change tracks, relative to its folder. A schema of the project may name
 * another file than tasks.md, or a pattern, which throws if several files match it.
 */
export const tasksFileOf = (root: string, base: string, folder: string): string => {
  const schema = schemaOf(root, base, folder);
  const tracked = objectIn(schema.apply).tracks;
  const artifacts = (Array.isArray(schema.artifacts) ? schema.artifacts : []).map(objectIn);
  const pattern = typeof tracked === 'string' ? tracked : artifacts.find(({ id }) => id === 'tasks')?.generates;
  if (typeof pattern !== 'string' || !isInside(pattern)) return 'tasks.md';
  if (!pattern.includes('*')) return pattern;
  // What is before the first star and after the last one is enough to find the file.
  const [start, end] = [pattern.slice(0, pattern.indexOf('*')), pattern.slice(pattern.lastIndexOf('*') + 1)];
  const isTracked = (name: string) => name.startsWith(start) && `/${name}`.endsWith(end);
  const [file = 'tasks.md', ...others] = filesInside(root, folder).filter(isTracked);
  if (others.length > 0) throw userError('several-task-files', folder, pattern, [file, ...others]);
  return file;
};

/** The schema of a change in the project; empty for the built-in one and for schemas of the user. */
const schemaOf = (root: string, base: string, folder: string): Readonly<Record<string, unknown>> => {
  const file = schemaFile(root, base, folder);
  return (file === null ? null : parseYaml(textInside(root, file, maxSettings) ?? '')) ?? {};
};

/** The file of the schema that a change or the project names, which need not exist; null if none is named. */
export const schemaFile = (root: string, base: string, folder: string): string | null => {
  const named = [changeSettingsFile(folder), configFile(root, base)]
    .map((file) => parseYaml(textInside(root, file, maxSettings) ?? '')?.schema)
    .find((name) => typeof name === 'string');
  if (typeof named !== 'string' || !/^[\w.-]+$/.test(named) || named.startsWith('.')) return null;
  return join(base, 'schemas', named, 'schema.yaml');
};

const objectIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

const isInside = (path: string): boolean => path !== '' && !path.startsWith('/') && !path.split(/[/\\]/).includes('..');
