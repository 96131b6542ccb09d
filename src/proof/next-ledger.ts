import { hasPassed } from '../ralph/gate-result.ts';
import type { ScenarioCommands } from '../ralph/plan.ts';
import type { Evidence, Ledger, Proof, Scenario, ScenarioProof } from '../ralph/proof.ts';
import type { GateRun } from '../ralph/record.ts';
import type { LinkedTest, Links } from './links.ts';
import type { TestResult } from './test-result.ts';

/** A command of this gate. The last attempt of a command that was retried counts, and only what it reported. */
export interface CommandResult extends Pick<GateRun, 'command' | 'outcome' | 'exitCode'> {
  readonly tests: readonly TestResult[];
}

export type RedFirst = NonNullable<ScenarioProof['redFirst']>;

/** What a gate has found out about the scenarios of a change. */
export interface GateFindings extends Pick<Proof, 'run' | 'iteration' | 'checkpoint' | 'commit' | 'at' | 'worker'> {
  readonly change: string;
  readonly scenarios: readonly Scenario[];
  readonly links: Links;
  readonly commands: readonly CommandResult[];
  /** The commands that the scenarios had when the run began. Removing one does not remove the need for it. */
  readonly scenarioCommands: ScenarioCommands;
  /** With --red-first, by id. A scenario that is missing has not been tried yet. */
  readonly redFirst?: ReadonlyMap<string, RedFirst>;
}

/**
 * Returns the ledger after a gate. A scenario is proven only by results of this gate: something that names it has
 * passed, and nothing that names it failed, was skipped or has no result. An earlier proof is kept as the last one, but
 * does not make the scenario proven.
 */
export const nextLedger = (findings: GateFindings, previous: Ledger | null): Ledger => {
  const { change, run, iteration, at, worker, scenarios, links } = findings;
  const earlier = new Map(previous?.scenarios.map((row) => [row.id, row.proof]));
  return {
    v: 1,
    change,
    run,
    iteration,
    at,
    ...(worker && { worker }),
    scenarios: scenarios.map((scenario) => rowOf(scenario, findings, earlier.get(scenario.id) ?? null)),
    unknown: links.unknown,
  };
};

const rowOf = (scenario: Scenario, findings: GateFindings, earlier: Proof | null): ScenarioProof => {
  const { id, title, requirement, hash } = scenario;
  const evidence = evidenceFor(scenario, findings);
  const redFirst = findings.redFirst?.get(id);
  const row = { id, title, requirement, hash, evidence, ...(redFirst && { redFirst }) };
  const found = judge(evidence, findings.redFirst === undefined ? null : (redFirst ?? 'open'));
  if (found.state === 'proven') return { ...row, ...found, proof: proofOf(evidence, hash, findings) };
  const isStale = found.state !== 'failing' && earlier !== null && earlier.hash !== hash;
  if (!isStale) return { ...row, ...found, proof: earlier };
  return { ...row, state: 'stale', reason: `its text changed since it was proven; ${found.reason}`, proof: earlier };
};

/** What names a scenario, with the results. */
export const evidenceFor = (
  { id, verify }: Pick<Scenario, 'id' | 'verify'>,
  { commands, scenarioCommands, links }: Pick<GateFindings, 'commands' | 'scenarioCommands' | 'links'>,
): Evidence[] => {
  const wanted = [...new Set([...verify, ...(scenarioCommands[id] ?? [])])];
  const commandOf = new Map(commands.flatMap((each) => each.tests.map((result) => [result, each] as const)));
  return [
    ...wanted.map((command) =>
      ofCommand(
        command,
        commands.find((each) => each.command === command),
      ),
    ),
    ...(links.tests.get(id) ?? []).flatMap((test) => ofTest(test, commandOf)),
  ];
};

const ofCommand = (command: string, run: CommandResult | undefined): Evidence => ({
  kind: 'command',
  command,
  exitCode: run?.exitCode ?? null,
  test: null,
  file: null,
  outcome: run === undefined || run.outcome === 'interrupted' ? 'not-run' : hasPassed(run) ? 'passed' : 'failed',
});

const ofTest = (
  { title, file, results }: LinkedTest,
  commandOf: ReadonlyMap<TestResult, CommandResult>,
): Evidence[] => {
  if (results.length === 0)
    return [{ kind: 'test', command: '', exitCode: null, test: title, file, outcome: 'not-run' }];
  return results.map((result) => {
    const run = commandOf.get(result);
    // A command that was stopped may not have reported everything about a test.
    const outcome = result.status === 'passed' && (run === undefined || !isComplete(run)) ? 'not-run' : result.status;
    const { command = '', exitCode = null } = run ?? {};
    return { kind: 'test', command, exitCode, test: result.title, file: file ?? result.file, outcome };
  });
};

const isComplete = ({ outcome }: CommandResult): boolean => outcome !== 'timed-out' && outcome !== 'interrupted';

const judge = (
  evidence: readonly Evidence[],
  redFirst: RedFirst | 'open' | null,
): Pick<ScenarioProof, 'state' | 'reason'> => {
  if (evidence.length === 0) return { state: 'unlinked', reason: 'no test or command names it' };
  const bad = evidence.find(({ outcome }) => outcome !== 'passed' && outcome !== 'not-run');
  if (bad !== undefined) return { state: 'failing', reason: `${nameOf(bad)} ${outcomeText(bad)}` };
  const missing = evidence.find(({ outcome }) => outcome === 'not-run');
  if (missing !== undefined) return { state: 'linked', reason: `${nameOf(missing)} ${outcomeText(missing)}` };
  if (redFirst === 'passed')
    return { state: 'failing', reason: `${nameOf(evidence[0]!)} also passes without the change, so it proves nothing` };
  if (redFirst === 'open') return { state: 'linked', reason: 'it has not been tried without the change yet' };
  if (redFirst === 'not-tried')
    return { state: 'failing', reason: `${nameOf(evidence[0]!)} could not be tried without the change` };
  return { state: 'proven', reason: null };
};

const nameOf = ({ kind, command, test, file }: Evidence): string => {
  if (kind === 'command') return `"${command}"`;
  const where = file === null ? '' : ` in ${file}`;
  return test === null ? `the tests${where}` : `the test "${test}"${where}`;
};

const outcomeText = ({ kind, outcome, exitCode, test }: Evidence): string => {
  switch (outcome) {
    case 'passed':
      return 'passed';
    case 'failed':
      return kind === 'command' && exitCode !== null ? `failed (exit code ${exitCode})` : 'failed';
    case 'skipped':
      return 'was skipped';
    case 'todo':
      return 'is marked as todo';
    case 'not-run':
      if (kind === 'command') return 'did not run: it is not one of the commands that this run was started with';
      return `${test === null ? 'have' : 'has'} no result in the reports of this gate`;
  }
};

const proofOf = (evidence: readonly Evidence[], hash: string, findings: GateFindings): Proof => {
  const { run, iteration, checkpoint, commit, at, worker } = findings;
  return { ...evidence[0]!, hash, run, iteration, checkpoint, commit, at, ...(worker && { worker }) };
};
