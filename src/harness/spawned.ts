import { userError } from '../errors.ts';
import type { TurnEnd, AbortReason } from '../ralph/events.ts';
import { isName, nameRule } from '../text/names.ts';
import { createEventStream } from './decode.ts';
import { createDiagnosis } from './diagnosis.ts';
import { childEnvironment } from '../process/environment.ts';
import type { Harness } from './harness.ts';
import type { AgentTurn, OpenSession, SessionScope, TurnObserver } from './session.ts';
import { agentProgram } from './program.ts';
import { runProcess } from '../process/run.ts';
import { knownVersion } from './version.ts';
import { createWatchdog } from '../process/watchdog.ts';

/** A session that starts the CLI of the agent for each turn. */
export const openSpawned: OpenSession = (harness, scope) => ({
  prompt: (turn, observer) => runTurn({ ...scope, ...turn, harness }, observer),
  // What a turn has started ends with it.
  close: async () => {},
});

interface Turn extends SessionScope, AgentTurn {
  readonly harness: Harness;
}

const runTurn = async (run: Turn, observer: TurnObserver): Promise<TurnEnd> => {
  const { harness, job, env, stopSignals } = run;
  if (job.model !== null && !isName(job.model)) throw userError('bad-value', '--model', nameRule, job.model);
  const binary = agentProgram(harness, { env, cwds: [process.cwd(), run.cwd] }) ?? (harness.custom && harness.binary);
  // By its name alone, one in the project could be found.
  if (binary === undefined) return notFound(harness);
  const cleanEnv = childEnvironment(env);
  const version =
    harness.allowAllDependsOnVersion && job.allowAll
      ? await knownVersion({ binary, env: cleanEnv, stop: stopSignals.stop, sandbox: run.sandbox, harness })
      : null;
  const halting = new AbortController();
  const halt = (why: AbortReason | null) => {
    if (why) halting.abort(why);
  };
  const diagnosis = createDiagnosis(harness, job.allowAll, (event) => halt(observer.see(event)));
  const events = createEventStream(harness.decoder(harness.title), (event) => diagnosis.see(event));
  const watchdog = createWatchdog(run.deadlines, halt);
  const launch = {
    ...run,
    binary,
    args: harness.args({ ...job, version, asSuperuser: process.getuid?.() === 0 }),
    env: cleanEnv,
    prompt: harness.prompt === undefined ? job.prompt : '',
  };
  try {
    const ended = await runProcess(launch, {
      output: (source, chunk) => {
        watchdog.alive();
        events.write(source, chunk);
        const waiting = observer.drained?.() ?? null;
        return waiting && watchdog.busy(waiting);
      },
      stop: AbortSignal.any([stopSignals.stop, halting.signal]),
      kill: stopSignals.kill,
    });
    events.end();
    diagnosis.end(ended);
    return haltedOr(ended, halting.signal, stopSignals.stop);
  } finally {
    watchdog.dispose();
  }
};

const notFound = ({ binary }: Harness): TurnEnd => ({
  end: 'not-started',
  exitCode: null,
  signal: null,
  problem: `${binary} is not on PATH any more`,
});

/** Who ended the agent: the user comes first, and what was over before the halt was over. */
const haltedOr = (ended: TurnEnd, halting: AbortSignal, stop: AbortSignal): TurnEnd => {
  if (ended.end !== 'interrupted' || !halting.aborted || stop.aborted) return ended;
  const { end, why } = halting.reason as AbortReason;
  return { ...ended, end, problem: why };
};
