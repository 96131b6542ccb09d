import { safeJson } from '../text/controls.ts';
import { passListsOf } from '../config/resolve.ts';
import { readConfig } from '../config/file.ts';
import { childEnvironment } from '../process/environment.ts';
import type { Harness } from '../harness/harness.ts';
import { harnesses } from '../harness/registry.ts';
import { agentProgram, askingEnvironment, type Lookup, passedOver } from '../harness/program.ts';
import { versionOf } from '../harness/version.ts';
import { filterEnvironment } from '../process/passed-environment.ts';
import { findProjectIfAny } from '../store/project.ts';
import { canvasOf } from '../report/canvas.ts';
import { type Column, renderTable } from '../report/table.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { visible } from '../text/escape-hidden.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProjectIfAny(cwd);
  const config = project ? await readConfig(project) : { customHarnesses: [], pass: null };
  const passed = filterEnvironment(passListsOf(env, config), env);
  const lookup = { env: passed, cwds: [cwd, ...(project ? [project.root] : [])] };
  const found = await Promise.all([...harnesses, ...config.customHarnesses].map((harness) => inspect(harness, lookup)));
  if (rawFlags.json) {
    terminal.print(`${safeJson(found, 2)}\n`);
    return 0;
  }
  // Nothing is shortened, so that the commands can be copied.
  const canvas = { ...canvasOf(terminal), columns: Infinity };
  terminal.print(`${renderTable(columnsWith(createRedactor(env)), found, canvas).join('\n')}\n`);
  return 0;
};

/** Finds out whether and where a harness is installed. */
const inspect = async (harness: Harness, lookup: Lookup) => {
  const { name, title, install, capabilities, custom } = harness;
  const path = agentProgram(harness, lookup);
  const env = childEnvironment(askingEnvironment(lookup));
  const version = path && !custom ? await versionOf({ binary: path, env }) : null;
  const inProject = path === null ? passedOver(harness, lookup) : null;
  return { name, title, own: custom?.command ?? null, path, inProject, version, install, capabilities };
};

type Inspected = Awaited<ReturnType<typeof inspect>>;

const columnsWith = (redactor: Redactor): readonly Column<Inspected>[] => [
  { title: 'harness', value: ({ name, own }) => (own === null ? name : `${name} (custom: ${visible(own)})`) },
  { title: 'installed', value: (found) => installedText(found, redactor) },
  { title: 'reports', value: ({ capabilities }) => capabilities.join(', ') },
  { title: 'install with', value: ({ path, install }) => (path === null ? install : '-') },
];

const installedText = ({ path, inProject, version }: Inspected, redactor: Redactor): string => {
  if (path === null) return inProject === null ? 'no' : 'only in the project (not used)';
  return version ? redactor.oneLine(version, 40) : 'yes, version unknown';
};
