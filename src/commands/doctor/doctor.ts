import { safeJson } from '../../text/controls.ts';
import { parseFlags, type Resolved, resolveOptions } from '../../config/resolve.ts';
import type { Harness } from '../../harness/harness.ts';
import { findHarness, harnesses } from '../../harness/registry.ts';
import { agentProgram, type Lookup } from '../../harness/program.ts';
import { withProcessScope } from '../../process/scope.ts';
import { findProjectIfAny, type Project } from '../../store/project.ts';
import type { AgentChoice } from '../../ralph/plan.ts';
import { canvasOf } from '../../report/canvas.ts';
import { createStatusLine } from '../../report/status-line.ts';
import type { Terminal } from '../../report/terminal.ts';
import { wrap } from '../../report/wrap.ts';
import type { Invocation } from '../shared/command.ts';
import { consentOn } from '../shared/consent.ts';
import { agentsOf } from '../../config/agents.ts';
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
  const checks: Check[] = [];
  const progress = showProgress(terminal, json);
  const report = (found: readonly Check[]) => {
    const redacted = createRedactor(env).data([...found]);
    checks.push(...redacted);
    if (!json) for (const check of redacted) progress.print(`${render(check, terminal)}\n`);
  };
  const stopSignals = onStopSignals(() => {});
  try {
    progress.start('the project');
    report(await checkSurroundings(cwd, project, terminal));
    progress.start('the sandbox');
    report(await checkSandbox({ invocation: { cwd, env }, options, stopSignals, probe: Boolean(probe) }));
    for (const { agent, harness } of [...chosen, ...others]) {
      if (stopSignals.received() !== null) break;
      progress.start(harness.title);
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
      if (stopSignals.received() === null) report([...found, ...probed]);
    }
  } finally {
    progress.stop();
    stopSignals.dispose();
  }
  if (json) terminal.print(`${safeJson(checks, 2)}\n`);
  const signal = stopSignals.received();
  if (signal !== null) return exitCodeOf(signal);
  const agentNames = new Set(harnesses.map(({ name }) => name));
  const matters = checks.filter(({ about }) => chosenNames.has(about) || !agentNames.has(about));
  const failed = matters.filter(({ status }) => status === 'fail');
  if (!json) terminal.print(`\n${verdict(failed, chosen)}\n`);
  return failed.length > 0 ? 1 : 0;
};

/** A last line that says what is being checked, and for how long. */
const showProgress = (terminal: Terminal, isQuiet: boolean) => {
  const line = createStatusLine(terminal, () => []);
  return {
    print: line.print,
    start: (what: string): void =>
      isQuiet ? undefined : line.start(`Checking ${what}${terminal.symbols.ellipsis}`, { sinceMs: Date.now() }),
    stop: line.stop,
  };
};

const verdict = (failed: readonly Check[], chosen: readonly { harness: Harness }[]): string => {
  if (failed.length > 0) return `Not ready: ${[...new Set(failed.map(({ about }) => about))].join(', ')} failed.`;
  const [first, ...fallbacks] = chosen.map(({ harness }) => harness.title);
  return `Ready: spool ralph will use ${first}${fallbacks.length === 0 ? '' : ` (fallback: ${fallbacks.join(', ')})`}.`;
};

const othersOnPath = (
  chosen: readonly { harness: Harness }[],
  lookup: Lookup,
): { agent: AgentChoice; harness: Harness }[] =>
  harnesses
    .filter((harness) => agentProgram(harness, lookup) && chosen.every((one) => one.harness !== harness))
    .map((harness) => ({ harness, agent: { harness: harness.name, model: null } }));

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** Long messages continue below themselves. */
const render = ({ about, status, message, fix }: Check, terminal: Terminal): string => {
  const { style, columns } = canvasOf(terminal);
  const below = (text: string) => wrap(text, columns - indent.length).join(`\n${indent}`);
  const first = `${style(colours[status], status.padEnd(4))}  ${about.padEnd(12)}  ${below(message)}`;
  return fix === null ? first : `${first}\n${indent}${below(`Fix: ${fix}`)}`;
};

/** As wide as the columns before the message. */
const indent = ' '.repeat(20);
