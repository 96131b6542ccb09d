import { scenarioIdsElsewhere } from '../../changes/scenarios/elsewhere.ts';
import { scenariosOf } from '../../changes/scenarios/scenarios.ts';
import { linkScenarios } from '../../proof/links.ts';
import { type CommandResult, type GateFindings, nextLedger } from '../../proof/next-ledger.ts';
import { readSourceLinks } from '../../proof/source-files.ts';
import type { TestResult } from '../../proof/test-result.ts';
import type { PromptOptions } from '../../ralph/prompt.ts';
import { hasPassed } from '../../ralph/gate-result.ts';
import { countProof } from '../../ralph/ledger.ts';
import type { Ledger, Scenario } from '../../ralph/proof.ts';
import { type GateRun, type IterationRecord, maxListed, type GateProof } from '../../ralph/record.ts';
import { readLedger, saveLedger } from '../../store/user-state/ledger.ts';
import type { RunContext } from '../context.ts';
import type { CommandResults } from './command-results.ts';
import type { RedFirstContext } from './red-first.ts';

export type ProofContext = RedFirstContext & Pick<RunContext, 'target' | 'view' | 'cluster'>;

/** Looks for what the commands of one gate prove. */
export interface ProofGate {
  /** Patterns for the reports of the commands. */
  readonly reports: readonly string[];
  /** Adds what one attempt of a command has reported. The last attempt counts. */
  add(command: string, reported: CommandResults): void;
  /** Called after the commands. Saves the ledger. Returns null if nothing names a scenario and none is required. */
  finish(gated: Gated): Promise<GateProof | 'interrupted' | null>;
}

interface Gated extends Pick<IterationRecord, 'checkpoint' | 'commit'> {
  readonly iteration: number;
  readonly runs: readonly GateRun[];
}

const maxProblems = 3;

/** Returns null if the change has no scenarios, and none are required. */
export const openProofGate = (context: ProofContext): ProofGate | null => {
  const { plan, project, workProject, target, redactor } = context;
  const scenarios = readScenarios(context);
  if (scenarios.length === 0 && !plan.gate.requireScenarios) return null;
  const tests = new Map<string, readonly TestResult[]>();
  return {
    reports: plan.gate.reports ?? [],
    add: (command, reported) => {
      tests.set(command, reported.tests);
      for (const problem of reported.problems.slice(0, maxProblems))
        context.emit({ type: 'notice', text: redactor.oneLine(problem) });
    },
    finish: async (gated) => {
      const commands = gated.runs.map((each): CommandResult => ({ ...each, tests: tests.get(each.command) ?? [] }));
      const { links: sources, problem } = await readSourceLinks(workProject.root);
      if (problem !== null) context.emit({ type: 'notice', text: problem });
      const results = commands.flatMap((each) => each.tests);
      const findings: GateFindings = {
        change: target.id,
        run: plan.run,
        iteration: gated.iteration,
        checkpoint: gated.checkpoint,
        commit: gated.commit ?? context.view().commits?.last ?? null,
        at: new Date().toISOString(),
        ...(context.cluster && { worker: context.cluster.worker() }),
        scenarios,
        links: linkScenarios({
          scenarios,
          sources,
          results,
          elsewhere: await scenarioIdsElsewhere(project, target.id),
        }),
        commands,
        scenarioCommands: plan.gate.scenarioCommands ?? {},
      };
      const tried = await redFirstOf(context, findings);
      return tried === 'interrupted' ? tried : save(context, { ...findings, ...tried });
    },
  };
};

/** Runs --red-first only when everything else has passed. */
const redFirstOf = async (
  context: ProofContext,
  findings: GateFindings,
): Promise<Pick<GateFindings, 'redFirst'> | 'interrupted'> => {
  if (!context.plan.gate.redFirst) return {};
  const isPassing = findings.commands.every(hasPassed);
  const { proven, total } = countProof(nextLedger(findings, null).scenarios);
  if (!isPassing || proven < total) return { redFirst: new Map() };
  const { tryRedFirst } = await import('./red-first.ts');
  const tried = await tryRedFirst(context, findings);
  return tried.kind === 'interrupted' ? tried.kind : { redFirst: tried.results };
};

const save = (context: ProofContext, findings: GateFindings): GateProof | null => {
  const { project, plan, env, redactor } = context;
  const of = { project, change: plan.change, env };
  const previous = readLedger(of);
  const ledger = redactor.data(nextLedger(findings, previous));
  const isNamed = ledger.scenarios.some(({ evidence }) => evidence.length > 0);
  if (!isNamed && previous === null && !plan.gate.requireScenarios) return null;
  saveLedger(of, ledger);
  return reportOf(ledger, Boolean(plan.gate.requireScenarios));
};

const reportOf = ({ scenarios, unknown }: Ledger, isRequired: boolean): GateProof => ({
  count: countProof(scenarios),
  ...(isRequired && { required: true as const }),
  unproven: scenarios
    .filter(({ state }) => state !== 'proven')
    .slice(0, maxListed)
    .map(({ id, title, state, reason }) => ({ id, title, state, reason })),
  ...(unknown.length > 0 && { unknown: unknown.slice(0, maxListed).map(({ id }) => id) }),
});

/** For the prompt: what must be proven. */
export const scenariosToProve = (
  context: Pick<ProofContext, 'plan' | 'target' | 'workProject'>,
): Pick<PromptOptions, 'toProve'> => {
  const { requireScenarios, redFirst = false, reports = [] } = context.plan.gate;
  return requireScenarios ? { toProve: { scenarios: readScenarios(context), reports, redFirst } } : {};
};

/** A file that cannot be read is reported by the guard and by `spool validate`. */
const readScenarios = ({ target, workProject }: Pick<ProofContext, 'target' | 'workProject'>): readonly Scenario[] => {
  try {
    return scenariosOf(target, workProject.root);
  } catch {
    return [];
  }
};
