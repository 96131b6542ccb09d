import {
  type Config,
  configIn,
  configName,
  isObject,
  optionsIn,
  parseJson,
  prefixFor,
  readConfigText,
} from '../../config/resolve.ts';
import { userError } from '../../errors.ts';
import { replaceOwn } from '../../files/own.ts';
import { findHarness } from '../../harness/registry.ts';
import { isInsideIteration } from '../../process/tree.ts';
import { resolveChange } from '../../changes/sources.ts';
import { configFile, findProject, type Project } from '../../store/project.ts';
import type { Invocation } from '../command.ts';
import { agentsOf } from '../../run/plan.ts';
import { type JsonObject, type Path, pathOf, textOf, valueAt } from './text.ts';

/** The settings of one change. */
interface Section {
  readonly change: string;
  /** Where the file has them, or would have them. */
  readonly id: string;
  /** The section that a run takes now: this one, or one for a prefix; null when there is none. */
  readonly holding: string | null;
}

/** The config file, and the setting in it that a call is about. */
export interface OpenConfig {
  readonly project: Project;
  /** As it is told to users. */
  readonly name: string;
  /** Empty when there is no file. */
  readonly text: string;
  readonly settings: JsonObject;
  /** null for all changes. */
  readonly section: Section | null;
  /** That of the key; without one that of the section, or of the file. */
  readonly path: Path;
}

export const openConfig = async ({ argument, rawFlags, cwd }: Invocation): Promise<OpenConfig> => {
  const project = findProject(cwd);
  const name = configName(project);
  const text = (await readConfigText(project)) ?? '';
  const settings = text === '' ? {} : parseJson(text, name);
  const section = rawFlags.change === undefined ? null : await sectionOf(project, settings, String(rawFlags.change));
  const ofSection = section === null ? [] : ['changes', section.id];
  const path = argument === undefined ? ofSection : pathOf(argument, section?.id ?? null, settings);
  return { project, name, text, settings, section, path };
};

/** The section with the very id that was typed, if that is the one that holds; otherwise that with the whole id. */
const sectionOf = async (project: Project, settings: JsonObject, typed: string) => {
  const change = await resolveChange(project, typed);
  const holding = holdingFor(settings, change);
  return { change, id: holding === typed ? typed : change, holding };
};

const holdingFor = (settings: JsonObject, change: string): string | null => {
  const changes = valueAt(settings, ['changes']);
  return isObject(changes) ? (prefixFor(new Map(Object.entries(changes)), change) ?? null) : null;
};

/** Agents could trust by this what they write. */
export const refuseAgents = (command: string): void => {
  if (isInsideIteration()) throw userError('in-iteration', command);
};

/** Writes the file, when it is one that a run would take. */
export const writeConfig = async ({ project, text }: OpenConfig, settings: JsonObject): Promise<Config> => {
  const next = textOf(settings, text);
  const config = await configIn(project, next);
  for (const options of optionsIn(config))
    for (const { harness } of agentsOf(options)) findHarness(harness, config.own);
  replaceOwn(configFile(project), next);
  return config;
};
