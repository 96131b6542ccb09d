import { userError } from '../errors.ts';
import type { TurnEnd, AbortReason } from '../ralph/agent-events.ts';
import { isName, nameRule } from '../text/names.ts';
import { createEventStream } from './decode.ts';
import { createDiagnosis } from './diagnosis.ts';
import { childEnvironment } from '../process/environment.ts';
import type { Harness } from './harness.ts';
import type { AgentTurn, OpenSession, SessionScope, TurnObserver } from './session.ts';
import { environmentOf, ownRulesOf } from './permissions/own-rules.ts';
import type { DeniedCall } from './decoded-event.ts';
import { remedyFor } from './permissions/remedy.ts';
import { agentProgram } from './program.ts';
import { currentScope } from '../process/scope.ts';
import { runProcess } from '../process/run.ts';
import { knownVersion } from './version.ts';
import { realPath } from '../process/which.ts';
import { createWatchdog } from '../process/watchdog.ts';

/** A session that starts the agent CLI once per turn. */
export const openSpawned: OpenSession = (harness, scope) => ({
  prompt: (turn, observer) => runTurn({ ...scope, ...turn, harness }, observer),
  // Each turn ends its own processes.
  close: async () => {},
});

interface Turn extends SessionScope, AgentTurn {
  readonly harness: Harness;
}

const runTurn = async (turn: Turn, observer: TurnObserver): Promise<TurnEnd> => {
  const { harness, job, env, stopSignals } = turn;
  if (job.model !== null && !isName(job.model)) throw userError('bad-value', '--model', nameRule, job.model);
  const binary =
    agentProgram(harness, { env, cwds: [currentScope().cwd, turn.cwd] }) ?? (harness.custom && harness.launch.binary);
  // Starting it by name could find one in the project.
  if (binary === undefined) return notFound(harness);
  const cleanEnv = childEnvironment(env);
  const version = () => knownVersion({ binary, env: cleanEnv, stop: stopSignals.stop, sandbox: turn.sandbox, harness });
  const roots = { root: realPath(turn.cwd), home: env.HOME ?? null };
  const own = ownRulesOf(harness, turn.rules, roots);
  const args = await harness.launch.args({ ...job, version, asSuperuser: process.getuid?.() === 0 });
  const aborting = new AbortController();
  const abort = (why: AbortReason | null) => {
    if (why) aborting.abort(why);
  };
  const advice = {
    allowAll: job.allowAll,
    redactor: turn.redactor,
    // Rules that allow something do not apply to a reviewer.
    remedyFor: (call: DeniedCall) => (job.isReview ? null : remedyFor(harness, call, { rules: turn.rules, roots })),
  };
  const diagnosis = createDiagnosis(harness, advice, (event) => abort(observer.onEvent(event)));
  const events = createEventStream(harness.output.decoder(harness.title), (event) => diagnosis.observe(event));
  const watchdog = createWatchdog(turn.deadlines, abort);
  const launch = {
    ...turn,
    binary,
    args: [...args, ...(own.args ?? [])],
    env: { ...cleanEnv, ...environmentOf(own, cleanEnv) },
    stdin: harness.launch.promptVia === undefined ? job.prompt : '',
  };
  try {
    const ended = await runProcess(launch, {
      output: (source, chunk) => {
        watchdog.alive();
        events.write(source, chunk);
        const waiting = observer.drained?.() ?? null;
        return waiting && watchdog.busy(waiting);
      },
      stop: AbortSignal.any([stopSignals.stop, aborting.signal]),
      kill: stopSignals.kill,
    });
    events.end();
    diagnosis.end(ended);
    return withAbortReason(ended, aborting.signal, stopSignals.stop);
  } finally {
    watchdog.dispose();
  }
};

const notFound = ({ launch: { binary } }: Harness): TurnEnd => ({
  end: 'not-started',
  exitCode: null,
  signal: null,
  problem: `${binary} is no longer on PATH`,
});

/** Replaces an interruption by the reason of the abort, unless the user stopped the turn or the agent exited before. */
const withAbortReason = (ended: TurnEnd, aborting: AbortSignal, stop: AbortSignal): TurnEnd => {
  if (ended.end !== 'interrupted' || !aborting.aborted || stop.aborted) return ended;
  const { end, why } = aborting.reason as AbortReason;
  return { ...ended, end, problem: why };
};
