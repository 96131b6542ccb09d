import { join } from 'node:path';
import { runShell } from '../../harness/shell.ts';
import { readTasks } from '../../project/changes.ts';
import type { GateRun } from '../../ralph/events.ts';
import { passes } from '../../ralph/gate.ts';
import type { World } from '../../ralph/loop.ts';
import { ceiling, fileOf, keepState, type WorldParts } from './parts.ts';

/** What must hold before a promise is believed. The cheap questions come first; commands are run when they are answered well. */
export const makeGate =
  (parts: WorldParts): World['gate'] =>
  async (iteration, { completionFound: promised, error }) => {
    const { gate, change } = parts.plan;
    const watches = promised && !gate.allowTampering;
    const seen = parts.guard.after();
    if (!promised && (!gate.verifyEach || gate.verify.length === 0 || error?.kind === 'limit')) return null;
    // What a person has changed meanwhile is part of the goal, and not the agent's doing.
    const { taken, conflicts } = await parts.copies.sync();
    if (taken.length > 0) parts.guard.before();
    const openTasks = promised && gate.requireTasks ? await openTasksOf(parts, change) : [];
    const cheap = openTasks.length + conflicts.length === 0 && !(watches && seen.length > 0);
    const runs = cheap ? await runCommands(parts, iteration) : [];
    keepState(parts);
    // Once more: something that the agent left behind may have been at work in the meantime.
    const tampering = watches ? [...new Set([...seen, ...parts.guard.after()])] : [];
    return { tampering, openTasks, conflicts, runs, passed: passes({ tampering, openTasks, conflicts, runs }) };
  };

const openTasksOf = async ({ work }: WorldParts, change: string): Promise<string[]> => {
  const tasks = await readTasks(work, change).catch(() => [{ title: 'tasks.md cannot be read', done: false }]);
  if (tasks?.length === 0) return ['tasks.md has no task that can be read'];
  return (tasks ?? []).filter(({ done }) => !done).map(({ title }) => title);
};

const runCommands = async (parts: WorldParts, iteration: number): Promise<GateRun[]> => {
  const { verify } = parts.plan.gate;
  if (verify.length > 0) parts.emit({ type: 'gate-started', commands: verify });
  const runs: GateRun[] = [];
  for (const [index, command] of verify.entries())
    runs.push(await runTwice(parts, command, fileOf(iteration, `verify-${index + 1}`)));
  return runs;
};

/** A command that is red is run once more before it is believed. */
const runTwice = async (parts: WorldParts, command: string, name: string): Promise<GateRun> => {
  const started = performance.now();
  const first = await runOnce(parts, command, name);
  const red = first.outcome === 'failed' || first.outcome === 'timed-out';
  const again = red && leftMs(parts) > 0;
  const last = again ? await runOnce(parts, command, `${name}-again`) : first;
  const durationMs = Math.round(performance.now() - started);
  const { exitCode } = last;
  if (last.outcome !== 'passed') return { command, outcome: last.outcome, exitCode, durationMs, tail: last.tail };
  return { command, outcome: again ? 'flaky' : 'passed', exitCode, durationMs, tail: again ? first.tail : '' };
};

/** What the limits of the run leave for a gate. */
const leftMs = ({ plan: { limits }, elapsedMs }: WorldParts): number =>
  Math.min(limits.maxDurationMs - elapsedMs(), limits.untilMs - Date.now());

const runOnce = (parts: WorldParts, command: string, name: string) => {
  const { work, options, call, plan, folder, stops, redactor } = parts;
  return runShell({
    command,
    cwd: work.root,
    env: { ...call.env, ...ceiling(parts.place) },
    tag: `${plan.run}/${name}`,
    logFile: join(folder, `${name}.log`),
    timeoutMs: Math.max(1, Math.min(options.verifyTimeout, leftMs(parts))),
    stopGraceMs: options.stopGrace,
    stops,
    redactor,
  });
};
