import { safeJson } from '../text/controls.ts';
import type { Options } from '../config/flags.ts';
import { resolveOptions } from '../config/resolve.ts';
import { childEnvironment } from '../process/environment.ts';
import type { Harness } from '../harness/harness.ts';
import { capabilitiesIn, defaultModeOf, modesOf } from '../harness/modes.ts';
import { harnesses } from '../harness/registry.ts';
import { agentProgram, askingEnvironment, type Lookup, passedOver } from '../harness/program.ts';
import { versionOf } from '../harness/version.ts';
import { filterEnvironment } from '../process/passed-environment.ts';
import { findProjectIfAny } from '../store/project.ts';
import { canvasOf } from '../report/canvas.ts';
import { type Column, renderTable } from '../report/table.ts';
import { agentsOf } from '../config/agents.ts';
import { modeInRun } from '../run/agent-mode.ts';
import { createRedactor, type Redactor } from '../secrets/redact.ts';
import { visible } from '../text/escape-hidden.ts';
import type { Invocation } from './registry/command.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProjectIfAny(cwd);
  const { options, customHarnesses, passLists } = await resolveOptions({ flagValues: {}, env, project });
  const passed = filterEnvironment(passLists, env);
  const lookup = { env: passed, cwds: [cwd, ...(project ? [project.root] : [])] };
  const used = agentsOf(options)[0]!.harness;
  const found = await Promise.all(
    [...harnesses, ...customHarnesses].map(async (harness) => ({
      ...(await inspect(harness, lookup, options)),
      default: harness.name === used,
    })),
  );
  if (rawFlags.json) terminal.print(`${safeJson(found, 2)}\n`);
  else terminal.print(`${renderTable(columnsWith(createRedactor(env)), found, canvasOf(terminal)).join('\n')}\n`);
  return 0;
};

/** Finds out whether and where a harness is installed. */
const inspect = async (harness: Harness, lookup: Lookup, options: Pick<Options, 'agentMode' | 'sandbox'>) => {
  const { name, title, install, custom } = harness;
  const { mode } = modeInRun(harness, { options, isSandboxed: options.sandbox, isWorker: false });
  const path = agentProgram(harness, lookup);
  const env = childEnvironment(askingEnvironment(lookup));
  const version = path && !custom ? await versionOf({ binary: path, env }) : null;
  const inProject = path === null ? passedOver(harness, lookup) : null;
  return {
    name,
    title,
    custom: custom?.command ?? null,
    path,
    inProject,
    version,
    install,
    capabilities: capabilitiesIn(harness, mode),
    protocols: protocolsOf(harness),
    modes: modesOf(harness),
    defaultMode: defaultModeOf(harness),
    mode,
  };
};

/** How Spool talks to it. */
const protocolsOf = ({ acp }: Harness): readonly string[] => {
  if (!acp) return ['cli'];
  return acp.only ? ['acp'] : ['cli', 'acp'];
};

type Found = Awaited<ReturnType<typeof inspect>> & {
  /** The agent that `spool ralph` uses here. */
  readonly default: boolean;
};

const columnsWith = (redactor: Redactor): Column<Found>[] => [
  {
    title: 'agent',
    value: ({ name, custom, default: isDefault }) =>
      `${name}${custom === null ? '' : ` (custom: ${visible(custom)})`}${isDefault ? ' (default)' : ''}`,
    min: 18,
  },
  {
    title: 'installed',
    value: (one) => installedText(one, redactor),
    style: ({ path }) => (path === null ? null : 'green'),
    min: 9,
  },
  {
    title: 'modes',
    value: ({ modes, defaultMode }) => [defaultMode, ...modes.filter((mode) => mode !== defaultMode)].join(', '),
    drop: 4,
  },
  { title: 'protocol', value: ({ protocols }) => protocols.join(', '), drop: 3 },
  { title: 'reports', value: ({ capabilities }) => capabilities.join(', '), drop: 2 },
  { title: 'install with', value: ({ path, install }) => (path === null ? install : '-'), drop: 1, min: 30 },
];

const installedText = ({ path, inProject, version }: Found, redactor: Redactor): string => {
  if (path === null) return inProject === null ? 'no' : 'only in the project (not used)';
  return version ? redactor.oneLine(version, 40) : 'yes, version unknown';
};
