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
import { table } from '../text/format.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { visible } from '../text/escape-hidden.ts';
import type { Invocation } from './shared/command.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProjectIfAny(cwd);
  const config = project ? await readConfig(project) : { customHarnesses: [], pass: null };
  const passed = filterEnvironment(passListsOf(env, config), env);
  const lookup = { env: passed, cwds: [cwd, ...(project ? [project.root] : [])] };
  const found = await Promise.all([...harnesses, ...config.customHarnesses].map((harness) => inspect(harness, lookup)));
  if (rawFlags.json) terminal.print(`${safeJson(found, 2)}\n`);
  else terminal.print(`${table([head, ...found.map(rowWith(createRedactor(env)))]).join('\n')}\n`);
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

const head = ['harness', 'installed', 'reports', 'install with'];

const rowWith =
  (redactor: Redactor) =>
  ({ name, own, path, inProject, version, capabilities, install }: Awaited<ReturnType<typeof inspect>>) => [
    own === null ? name : `${name} (custom: ${visible(own)})`,
    path === null
      ? inProject === null
        ? 'no'
        : 'only in the project (not used)'
      : version
        ? redactor.oneLine(version, 40)
        : 'yes, version unknown',
    capabilities.join(', '),
    path === null ? install : '-',
  ];
