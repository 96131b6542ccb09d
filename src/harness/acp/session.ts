import { userError } from '../../errors.ts';
import type { TurnEnd } from '../../ralph/agent-events.ts';
import { isName, nameRule } from '../../text/names.ts';
import { currentScope } from '../../process/scope.ts';
import { realPath } from '../../process/which.ts';
import { untoldRules } from '../permissions/untold-rules.ts';
import { problemEvent } from '../problem.ts';
import { agentProgram } from '../program.ts';
import type { AgentSession, AgentTurn, OpenSession, TurnObserver } from '../session.ts';
import { openSpawned } from '../spawned.ts';
import { createExits } from './exit-notices.ts';
import { createProcesses } from './processes.ts';
import { type AgentState, runTurn, stateOfExit } from './turn.ts';

/** A session with an agent that speaks ACP. Its process lives as long as the mode says. */
export const openAcp: OpenSession = (harness, scope) => {
  const lookup = { env: scope.env, cwds: [currentScope().cwd, scope.cwd] };
  const processes = createProcesses(harness, scope);
  let cold: AgentSession | null = null;
  let last: AgentState | null = null;
  const exits = createExits(harness.title, scope.mode);

  /** Gives up the mode for the rest of the run. */
  const fallBack = async (why: string): Promise<void> => {
    if (scope.mode === 'cold' || processes.isCold()) return;
    scope.onNotice(
      `${harness.title} cannot run in ${scope.mode} mode (${why}). It is started for each iteration instead.`,
    );
    await processes.becomeCold();
    if (harness.acp?.only) return;
    cold = openSpawned(harness, scope);
    const roots = { root: realPath(scope.cwd), home: scope.env.HOME ?? null };
    const untold = untoldRules(harness, scope.rules, { ...roots, asksSpool: false });
    if (untold !== null) scope.onNotice(untold);
  };

  /** Sees what became of the agent in the last iteration: in its turn, or while it was idle after it. */
  const lookBack = async (): Promise<void> => {
    const idleEnd = await processes.exitedIdle();
    const state = idleEnd === null ? last : stateOfExit(idleEnd);
    last = null;
    if (scope.mode === 'cold' || processes.isCold()) return;
    const { notice, giveUp } = exits(state, { wasIdle: idleEnd !== null });
    if (notice !== null) scope.onNotice(notice);
    if (giveUp !== null) await fallBack(giveUp);
  };

  const prompt = async (turn: AgentTurn, observer: TurnObserver): Promise<TurnEnd> => {
    const { model } = turn.job;
    if (model !== null && !isName(model)) throw userError('bad-value', '--model', nameRule, model);
    if (scope.stopSignals.stop.aborted) return interrupted;
    const binary = agentProgram(harness, lookup) ?? (harness.custom && harness.launch.binary);
    if (binary === undefined) return notStarted(`${harness.launch.binary} is no longer on PATH`);
    await lookBack();
    if (cold !== null) return cold.prompt(turn, observer);
    const ready = await processes.ready(binary, turn);
    if (scope.stopSignals.stop.aborted) {
      await processes.close();
      return interrupted;
    }
    if ('why' in ready) return withoutAgent(ready.why, ready.isMissing, turn, observer);
    const outcome = await runTurn(ready.agent, { harness, scope, turn }, observer).catch(async (error: unknown) => {
      await processes.done(false);
      throw error;
    });
    await processes.done(outcome.type === 'ended' && outcome.agent.type === 'healthy');
    if (outcome.type === 'not-prompted') return withoutAgent(outcome.why, false, turn, observer);
    last = outcome.agent;
    // Even a turn that failed: its tools may have run, so it is not repeated.
    return outcome.ended;
  };

  /** Nothing has reached the agent, so the turn can be run in another way. */
  const withoutAgent = async (
    why: string,
    isMissing: boolean,
    turn: AgentTurn,
    observer: TurnObserver,
  ): Promise<TurnEnd> => {
    if (!isMissing) await fallBack(why);
    if (cold !== null) return cold.prompt(turn, observer);
    if (isMissing) return notStarted(why);
    observer.onEvent(
      problemEvent({ kind: 'crash', message: scope.redactor.text(`${harness.title} did not start: ${why}`) }),
    );
    return { ...interrupted, end: 'exited' };
  };

  return {
    prompt: (turn, observer) => (cold ?? { prompt }).prompt(turn, observer),
    close: async () => {
      await processes.close();
      await cold?.close();
    },
  };
};

const interrupted: TurnEnd = { end: 'interrupted', exitCode: null, signal: null, problem: null };

const notStarted = (problem: string): TurnEnd => ({ ...interrupted, end: 'not-started', problem });
