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
import type { Invocation } from '../registry/command.ts';
import { consentOn } from '../user/consent.ts';
import { queueOf } from '../with-queue/queue-url.ts';
import { agentsOf } from '../../config/agents.ts';
import { distrustWritable } from '../../run/sandbox.ts';
import { sourceOf } from '../../trust/settings.ts';
import { requireTrust } from '../../run/require-trust.ts';
import { modeInRun } from '../../run/agent-mode.ts';
import { exitCodeOf, onStopSignals, type StopSignals } from '../../process/signals.ts';
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
  return withProcessScope({ env, cwd, passLists, ownsProcess: true }, () => checkAll(request));
};

interface DoctorRequest {
  readonly invocation: Invocation;
  readonly project: Project | null;
  readonly resolved: Resolved;
  readonly json: boolean;
  readonly probe: boolean;
}

interface ChosenAgent {
  readonly agent: AgentChoice;
  readonly harness: Harness;
}

const checkAll = async (request: DoctorRequest): Promise<number> => {
  const { invocation, project, resolved, json } = request;
  const { cwd, env, terminal } = invocation;
  const { options, customHarnesses, explicit } = resolved;
  const chosen = agentsOf(options).map((agent) => ({ agent, harness: findHarness(agent.harness, customHarnesses) }));
  const chosenHarnesses = chosen.map(({ harness }) => harness);
  distrustWritable(options, { cwd, env }, chosenHarnesses);
  const others = explicit.has('harness') ? [] : othersOnPath(chosen, { env, cwds: [cwd, project?.root ?? cwd] });
  await trustProbed(request, chosenHarnesses);
  const stopSignals = onStopSignals(() => {});
  const checks = await runChecks(request, [...chosen, ...others], stopSignals).finally(stopSignals.dispose);
  if (json) terminal.print(`${safeJson(checks, 2)}\n`);
  const signal = stopSignals.received();
  if (signal !== null) return exitCodeOf(signal);
  const failed = checks.filter(({ status, about }) => status === 'fail' && matters(about, chosenHarnesses));
  if (!json) terminal.print(`\n${verdict(failed, chosen)}\n`);
  return failed.length > 0 ? 1 : 0;
};

/** A probe runs the agents, so the user has to trust those of the project. */
const trustProbed = async (
  { invocation, project, resolved, json, probe }: DoctorRequest,
  chosen: readonly Harness[],
): Promise<void> => {
  if (!probe || project === null) return;
  const { env, terminal } = invocation;
  const { options, explicit, config } = resolved;
  const needed = new Set([
    ...(explicit.has('harness') ? [] : [sourceOf('harness'), sourceOf('escalate')]),
    ...chosen.map(({ name }) => sourceOf(`harnesses.${name}`)),
  ]);
  await requireTrust({ project, config, needed, env, consent: consentOn(terminal, !json && options.interactive) });
};

/** Prints each result as soon as it is known, and stops at a signal. */
const runChecks = async (
  { invocation, project, resolved: { options }, json, probe }: DoctorRequest,
  agents: readonly ChosenAgent[],
  stopSignals: StopSignals,
): Promise<Check[]> => {
  const { cwd, env, terminal } = invocation;
  const { allowAll } = options;
  const checks: Check[] = [];
  const progress = showProgress(terminal, json);
  const report = (found: readonly Check[]) => {
    const redacted = createRedactor(env).data([...found]);
    checks.push(...redacted);
    if (!json) for (const check of redacted) progress.print(`${render(check, terminal)}\n`);
  };
  try {
    progress.start('the project');
    report(await checkSurroundings(cwd, project, terminal));
    const queue = await queueOf(invocation, project);
    if (queue !== null) {
      progress.start('the queue');
      const { checkQueue } = await import('./queue.ts');
      report(await checkQueue(queue, project, invocation));
    }
    progress.start('the sandbox');
    report(await checkSandbox({ invocation: { cwd, env }, options, stopSignals, probe }));
    for (const { agent, harness } of agents) {
      if (stopSignals.received() !== null) break;
      progress.start(harness.title);
      const root = project?.root ?? cwd;
      const found = await checkAgent({ harness, env, stop: stopSignals.stop, cwd, root, allowAll });
      const isUsable = found[0]?.status === 'ok';
      const { mode, reason } = modeInRun(harness, { options, isSandboxed: options.sandbox, isWorker: false });
      const probed =
        probe && isUsable ? await probeAgent({ harness, agent, env, stopSignals, allowAll, mode, reason }) : [];
      if (stopSignals.received() === null) report([...found, ...probed]);
    }
    return checks;
  } finally {
    progress.stop();
  }
};

/** An agent that a run would not use may be missing. */
const matters = (about: string, chosen: readonly Harness[]): boolean =>
  chosen.some(({ name }) => name === about) || !harnesses.some(({ name }) => name === about);

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

const verdict = (failed: readonly Check[], chosen: readonly ChosenAgent[]): string => {
  if (failed.length > 0) return `Not ready: ${[...new Set(failed.map(({ about }) => about))].join(', ')} failed.`;
  const [first, ...fallbacks] = chosen.map(({ harness }) => harness.title);
  return `Ready: spool ralph will use ${first}${fallbacks.length === 0 ? '' : ` (fallback: ${fallbacks.join(', ')})`}.`;
};

const othersOnPath = (chosen: readonly ChosenAgent[], lookup: Lookup): ChosenAgent[] =>
  harnesses
    .filter((harness) => agentProgram(harness, lookup) && chosen.every((one) => one.harness !== harness))
    .map((harness) => ({ harness, agent: { harness: harness.name, model: null } }));

const colors = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** Long messages continue below themselves. */
const render = ({ about, status, message, fix }: Check, terminal: Terminal): string => {
  const { style, columns } = canvasOf(terminal);
  const below = (text: string) => wrap(text, columns - indent.length).join(`\n${indent}`);
  const first = `${style(colors[status], status.padEnd(4))}  ${about.padEnd(12)}  ${below(message)}`;
  return fix === null ? first : `${first}\n${indent}${below(`Fix: ${fix}`)}`;
};

/** As wide as the columns before the message. */
const indent = ' '.repeat(20);
