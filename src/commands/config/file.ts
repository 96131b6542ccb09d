import { type Config, configIn, configName, parseConfigJson, readConfigText } from '../../config/file.ts';
import { isObject } from '../../text/shape.ts';
import { optionsIn, prefixFor } from '../../config/resolve.ts';
import { replaceSafely } from '../../files/safe.ts';
import { findHarness } from '../../harness/registry.ts';
import { resolveChange } from '../../changes/sources.ts';
import { findProject, type Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { agentsOf } from '../../config/agents.ts';
import { type JsonObject, type Path, pathOf, textOf, valueAt } from './text.ts';
import { configFile } from '../../store/paths.ts';

/** A section of `changes` in the config file. */
interface Section {
  readonly change: string;
  /** The key of the section, which may not exist yet. */
  readonly id: string;
  /** The key of the section that a run uses now: this one or a prefix of the ID; null if there is none. */
  readonly current: string | null;
}

/** The config file, and the setting in it that a command reads or changes. */
export interface OpenConfig {
  readonly project: Project;
  /** The name of the file in messages. */
  readonly name: string;
  /** Empty if there is no file. */
  readonly text: string;
  readonly settings: JsonObject;
  /** null for settings of all changes. */
  readonly section: Section | null;
  /** Where the key is. Without a key, where the section is, or the root. */
  readonly path: Path;
}

export const openConfig = async ({ args: [key], rawFlags, cwd }: Invocation): Promise<OpenConfig> => {
  const project = findProject(cwd);
  const name = configName(project);
  const text = readConfigText(project) ?? '';
  const settings = text === '' ? {} : parseConfigJson(text, name);
  const section = rawFlags.change === undefined ? null : await sectionOf(project, settings, String(rawFlags.change));
  const ofSection = section === null ? [] : ['changes', section.id];
  const path = key === undefined ? ofSection : pathOf(key, section?.id ?? null, settings);
  return { project, name, text, settings, section, path };
};

/** The section with the ID that was typed if a run uses that one, otherwise the section with the full ID. */
const sectionOf = async (project: Project, settings: JsonObject, typed: string) => {
  const change = await resolveChange(project, typed);
  const current = currentSection(settings, change);
  return { change, id: current === typed ? typed : change, current };
};

const currentSection = (settings: JsonObject, change: string): string | null => {
  const changes = valueAt(settings, ['changes']);
  return isObject(changes) ? (prefixFor(new Map(Object.entries(changes)), change) ?? null) : null;
};

/** Writes the file. Throws if a run would reject it. */
export const writeConfig = async ({ project, text }: OpenConfig, settings: JsonObject): Promise<Config> => {
  const next = textOf(settings, text);
  const config = await configIn(project, next);
  for (const options of optionsIn(config))
    for (const { harness } of agentsOf(options)) findHarness(harness, config.customHarnesses);
  replaceSafely(configFile(project), next);
  return config;
};
