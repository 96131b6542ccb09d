import { checkInside, textInside } from '../files/inside.ts';
import { parseYaml } from '../text/yaml.ts';
import type { SpecPaths } from './source.ts';
import type { SpecIssue } from './specs/check-main.ts';

/** What a change says about its specs. */
export interface SpecSettings {
  /** It changes no spec on purpose. */
  readonly skip: boolean;
  /** It may delete main specs whose requirements it removes. */
  readonly retire: boolean;
  /** About switches that are not used. */
  readonly problems: readonly SpecIssue[];
}

export const noSettings: SpecSettings = { skip: false, retire: false, problems: [] };

const maxSettings = 64 * 1024;

/** Reads two switches at the top level of a YAML file. One that is not plainly true is off. */
export const readSettings = (root: string, { settings: file, needsSchema }: SpecPaths): SpecSettings => {
  checkInside(root, file);
  const text = textInside(root, file, maxSettings);
  if (text === null) return noSettings;
  const values = parseYaml(text);
  const skip = switchIn(text, values, { name: 'skip_specs', needsSchema });
  const retire = switchIn(text, values, { name: 'retire_capabilities', needsSchema });
  return {
    skip: skip === true,
    retire: retire === true,
    problems: [
      ...(typeof skip === 'object' ? [{ level: 'error' as const, ...skip }] : []),
      // Whether it is needed is decided by the main specs.
      ...(typeof retire === 'object' ? [{ level: 'info' as const, ...retire }] : []),
    ],
  };
};

interface Switch {
  readonly name: string;
  readonly needsSchema: boolean;
}

/** Returns what is wrong if the switch is set and cannot be used. */
const switchIn = (
  text: string,
  values: ReturnType<typeof parseYaml>,
  { name, needsSchema }: Switch,
): boolean | Omit<SpecIssue, 'level'> => {
  const index = text.split(/\r\n?|\n/).findIndex((line) => keyIn(line) === name);
  const about = (message: string) => ({ line: index === -1 ? null : index + 1, message });
  if (values === null) return index !== -1 && about(`"${name}" is not used, because this file is not valid YAML.`);
  if (!Object.hasOwn(values, name) || values[name] === false) return false;
  if (values[name] !== true) return about(`"${name}" must be true or false.`);
  const hasSchema = typeof values.schema === 'string' && values.schema !== '';
  return (
    hasSchema || !needsSchema || about(`"${name}" is not used, because this file names no schema. Add "schema: …".`)
  );
};

const keyIn = (line: string): string | null => /^\s*(['"]?)(\w+)\1\s*:/.exec(line)?.[2] ?? null;
