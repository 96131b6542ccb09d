import { resolveChange } from '../../changes/sources.ts';
import { type Config, noConfig, readConfig } from '../../config/file.ts';
import {
  canComeFrom,
  defaultOf,
  envOf,
  type FileSettings,
  flagHeadings,
  type FlagName,
  flagNames,
  flags,
  isRepeatable,
} from '../../config/flags.ts';
import { withoutTokens } from '../../config/notify-targets.ts';
import { prefixFor, resolveOptions } from '../../config/resolve.ts';
import { parseValue } from '../../config/values.ts';
import { type Canvas, canvasOf } from '../../report/canvas.ts';
import { type Column, renderTable } from '../../report/table.ts';
import { findProject, findProjectIfAny, ownerOf } from '../../store/project.ts';
import { safeJson } from '../../text/controls.ts';
import { visible } from '../../text/escape-hidden.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { Invocation } from '../registry/command.ts';
import { withoutPassword } from '../../text/address.ts';
import { valueOf } from './text.ts';

/** A setting as a run would use it. */
interface Row {
  readonly key: string;
  readonly value: unknown;
  /** `default`, `SPOOL_MAX_COST`, `config.json`, `config.json changes.002-01`. */
  readonly source: string;
}

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const found = rawFlags.change === undefined ? findProjectIfAny(cwd) : findProject(cwd);
  const project = found && ownerOf(found);
  const resolved = await resolveOptions({ flagValues: {}, env, project });
  const change = rawFlags.change === undefined ? null : await resolveChange(project!, String(rawFlags.change));
  // Throws if the values of the change conflict.
  if (change !== null) resolved.forChange(change);
  const config = project ? await readConfig(project) : noConfig;
  const redactor = createRedactor(env);
  const sections = sectionsOf(config, change, env).map((section) => ({
    ...section,
    rows: redactor.data(section.rows),
  }));
  if (rawFlags.json) terminal.printResult(`${safeJson(sections.flatMap(jsonRows), 2)}\n`);
  else terminal.printResult(`${render(sections, { ...canvasOf(terminal), columns: terminal.columns }).join('\n')}\n`);
  return 0;
};

interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

const sectionsOf = (config: Config, change: string | null, env: NodeJS.ProcessEnv): Section[] => {
  const prefix = change === null ? undefined : prefixFor(config.changes, change);
  const special = prefix === undefined ? {} : config.changes.get(prefix)!.written;
  const rowOf = createRow({ env, special, prefix, common: config.written });
  const settings = flagNames.filter((name) => canComeFrom('env', name) || canComeFrom('config', name));
  return [
    ...flagHeadings.map((heading) => ({
      title: heading,
      rows: [
        ...settings.filter((name) => flags[name].heading === heading).map(rowOf),
        ...(heading === 'Agent' ? [...permissionRows(config), ...agentRows(config)] : []),
      ],
    })),
    { title: 'Environment', rows: passRows(config, env) },
    { title: 'Many machines', rows: [queueRow(config, env)] },
  ].filter(({ rows }) => rows.length > 0);
};

interface Sources {
  readonly env: NodeJS.ProcessEnv;
  /** What the file has for the change, and the key under which it has it. */
  readonly special: FileSettings;
  readonly prefix: string | undefined;
  /** What the file has for all changes. */
  readonly common: FileSettings;
}

const createRow =
  ({ env, special, prefix, common }: Sources) =>
  (name: FlagName): Row => {
    const [variable, clean] = [env[envOf(name)], name === 'notify' ? withoutTokens : (value: unknown) => value];
    if (variable && canComeFrom('env', name))
      return { key: name, value: clean(valueIn(name, variable)), source: envOf(name) };
    if (special[name] !== undefined)
      return { key: name, value: clean(special[name]), source: `config.json changes.${prefix}` };
    if (common[name] !== undefined) return { key: name, value: clean(common[name]), source: 'config.json' };
    return { key: name, value: defaultOf(flags[name]), source: 'default' };
  };

/** The value of a variable as it would be in the file. */
const valueIn = (name: FlagName, variable: string): unknown =>
  isRepeatable(flags[name]) ? parseValue(flags[name].kind, variable) : valueOf([name], variable);

const agentRows = ({ customHarnesses }: Config): Row[] =>
  customHarnesses.map(({ name, custom }) => ({
    key: `harnesses.${name}`,
    value: custom!.command,
    source: 'config.json',
  }));

/** Rules of the file apply in addition to those of flags and variables. */
const permissionRows = ({ permissions }: Config): Row[] =>
  (['allow', 'deny'] as const)
    .filter((name) => permissions[name].length > 0)
    .map((name) => ({ key: `permissions.${name}`, value: permissions[name], source: 'config.json' }));

/** Both lists apply. */
const passRows = ({ pass }: Config, { SPOOL_ENV_PASS: variable }: NodeJS.ProcessEnv): Row[] => {
  const rows = [
    ...(variable ? [{ key: 'env.pass', value: variable.split(','), source: 'SPOOL_ENV_PASS' }] : []),
    ...(pass === null ? [] : [{ key: 'env.pass', value: pass, source: 'config.json' }]),
  ];
  return rows.length > 0 ? rows : [{ key: 'env.pass', value: ['*'], source: 'default' }];
};

/** An address in the environment may contain a password. */
const queueRow = ({ queue }: Config, { SPOOL_QUEUE: variable }: NodeJS.ProcessEnv): Row =>
  variable?.trim()
    ? { key: 'queue', value: withoutPassword(variable.trim()), source: 'SPOOL_QUEUE' }
    : { key: 'queue', value: queue, source: queue === null ? 'default' : 'config.json' };

const jsonRows = ({ rows }: Section) =>
  rows.map(({ key, value, source }) => {
    const name = flagNames.find((known) => known === key);
    return { key, value, source, default: name === undefined ? null : defaultOf(flags[name]) };
  });

const render = (sections: readonly Section[], canvas: Canvas): string[] => {
  const rows = sections.flatMap(({ title, rows: settings }) => [{ title }, ...settings]);
  return renderTable(columns, rows, canvas);
};

/** A setting, or the title of a section. */
type Line = Row | { readonly title: string };

const columns: readonly Column<Line>[] = [
  { value: (line) => ('title' in line ? line.title : `  ${line.key}`) },
  { value: (line) => ('title' in line ? '' : textOf(line.value)), min: 10 },
  { value: (line) => ('title' in line ? '' : visible(line.source)) },
];

const textOf = (value: unknown): string => {
  if (value === null || (Array.isArray(value) && value.length === 0)) return '-';
  return visible(typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value));
};
