import { safeJson } from '../../text/controls.ts';
import { parseFlags, type Resolved, resolveOptions } from '../../config/resolve.ts';
import type { Harness } from '../../harness/harness.ts';
import { findHarness, harnesses } from '../../harness/registry.ts';
import { agentProgram, type Lookup } from '../../harness/program.ts';
import { withProcessScope } from '../../process/scope.ts';
import { findProjectIfAny, type Project } from '../../store/project.ts';
import type { AgentChoice } from '../../ralph/plan.ts';
import type { Terminal } from '../../report/terminal.ts';
import type { Invocation } from '../shared/command.ts';
import { consentOn } from '../shared/consent.ts';
import { agentsOf } from '../../run/plan.ts';
import { distrustWritable } from '../../run/sandbox.ts';
import { sourceOf } from '../../trust/settings.ts';
import { requireTrust } from '../../run/require-trust.ts';
import { exitCodeOf, onStopSignals } from '../../process/signals.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { checkAgent } from './agent.ts';
import type { Check } from './check.ts';
import { probeAgent } from './probe.ts';
import { checkSandbox } from './sandbox.ts';
import { checkSurroundings } from './surroundings.ts';

/** Checks everything that a loop needs. The exit code is 0 only if the agent that a run would use works. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, env } = invocation;
  const project = findProjectIfAny(cwd);
  const { json, probe } = rawFlags;
  const resolved = await resolveOptions({ flagValues: parseFlags(rawFlags), env, project });
  const { passLists } = resolved;
  const request = { invocation, project, resolved, json: Boolean(json), probe: Boolean(probe) };
  return withProcessScope({ env, passLists, ownsProcess: true }, () => checkAll(request));
};

interface DoctorRequest {
  readonly invocation: Invocation;
  readonly project: Project | null;
  readonly resolved: Resolved;
  readonly json: boolean;
  readonly probe: boolean;
}

const checkAll = async ({ invocation, project, resolved, json, probe }: DoctorRequest): Promise<number> => {
  const { cwd, env, terminal } = invocation;
  const { options, customHarnesses, explicit, config } = resolved;
  const chosen = agentsOf(options).map((agent) => ({ agent, harness: findHarness(agent.harness, customHarnesses) }));
  distrustWritable(
    options,
    { cwd, env },
    chosen.map(({ harness }) => harness),
  );
  const others = explicit.has('harness') ? [] : othersOnPath(chosen, { env, cwds: [cwd, project?.root ?? cwd] });

  if (probe && project) {
    const needed = new Set([
      ...(explicit.has('harness') ? [] : [sourceOf('harness')]),
      ...chosen.map(({ harness }) => sourceOf(`harnesses.${harness.name}`)),
    ]);
    await requireTrust({ project, config, needed, env, consent: consentOn(terminal, !json && options.interactive) });
  }

  const chosenNames = new Set(chosen.map(({ harness }) => harness.name));
  const checks: Check[] = await checkSurroundings(cwd, project, terminal);
  const stopSignals = onStopSignals(() => {});
  try {
    checks.push(...(await checkSandbox({ invocation: { cwd, env }, options, stopSignals, probe: Boolean(probe) })));
    for (const { agent, harness } of [...chosen, ...others]) {
      if (stopSignals.received() !== null) break;
      const { allowAll } = options;
      const found = await checkAgent({
        harness,
        env,
        stop: stopSignals.stop,
        cwd,
        root: project?.root ?? cwd,
        allowAll,
      });
      const work = { harness, agent, env, stopSignals, allowAll };
      const probed = probe && found[0]?.status === 'ok' ? await probeAgent(work) : [];
      if (stopSignals.received() === null) checks.push(...found, ...probed);
    }
  } finally {
    stopSignals.dispose();
  }
  const redacted = createRedactor(env).data(checks);
  if (json) terminal.print(`${safeJson(redacted, 2)}\n`);
  else for (const check of redacted) terminal.print(`${line(check, terminal)}\n`);
  const signal = stopSignals.received();
  if (signal !== null) return exitCodeOf(signal);
  const agentNames = new Set(harnesses.map(({ name }) => name));
  const matters = checks.filter(({ about }) => chosenNames.has(about) || !agentNames.has(about));
  return matters.some(({ status }) => status === 'fail') ? 1 : 0;
};

const othersOnPath = (
  chosen: readonly { harness: Harness }[],
  lookup: Lookup,
): { agent: AgentChoice; harness: Harness }[] =>
  harnesses
    .filter((harness) => agentProgram(harness, lookup) && chosen.every((one) => one.harness !== harness))
    .map((harness) => ({ harness, agent: { harness: harness.name, model: null } }));

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

const line = ({ about, status, message, fix }: Check, { style }: Terminal) =>
  `${style(colours[status], status.padEnd(4))}  ${about.padEnd(12)}  ${message}${fix === null ? '' : `\n${indent}Fix: ${fix}`}`;

/** As wide as the columns before the message. */
const indent = ' '.repeat(20);
