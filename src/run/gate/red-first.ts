import { createHash } from 'node:crypto';
import { toUtf8 } from '../../git/paths.ts';
import { rawDiff } from '../../git/raw-diff.ts';
import { linkScenarios } from '../../proof/links.ts';
import { evidenceFor, type GateFindings, type RedFirst } from '../../proof/next-ledger.ts';
import { firstCheckpoint } from './first-checkpoint.ts';
import { isKept, judgeRedFirst } from './red-first-verdict.ts';
import type { Evidence, Scenario } from '../../ralph/proof.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { addRedFirst, readRedFirst } from '../../store/user-state/red-first.ts';
import type { RunContext } from '../context.ts';
import { runTrial, type Trial, type TrialContext } from './trial.ts';

export type RedFirstContext = TrialContext & Pick<RunContext, 'tree' | 'emit'>;

export type RedFirstResult =
  { readonly kind: 'tried'; readonly results: ReadonlyMap<string, RedFirst> } | { readonly kind: 'interrupted' };

/**
 * Tries what proves the scenarios on the code from before the change: the files of the first checkpoint, with the tests
 * of this one. It must fail there. To know that it does not fail because the setup does not work, it must then pass in a
 * worktree of this checkpoint. Results are remembered for as long as all files of the tests stay the same.
 */
export const tryRedFirst = async (context: RedFirstContext, findings: GateFindings): Promise<RedFirstResult> => {
  const { tree, project, plan, env } = context;
  const { scenarios, checkpoint } = findings;
  const notTried = new Map(scenarios.map(({ id }): [string, RedFirst] => [id, 'not-tried']));
  const userState = userStateFolder(project, plan.change, env);
  const start = tree && (await firstCheckpoint(tree, userState));
  if (tree === null || start === null || checkpoint === null) return { kind: 'tried', results: notTried };
  const changes = (await rawDiff(tree.root, start, checkpoint)) ?? new Map<string, { new: string }>();
  const evidence = new Map(scenarios.map((scenario) => [scenario.id, evidenceFor(scenario, findings)]));
  const linked = new Set([...evidence.values()].flat().flatMap(({ file }) => file ?? []));
  // All of them: a test may use any other file of the tests.
  const tests = [...changes]
    .map(([name, { new: now }]) => [toUtf8(name), now])
    .filter(([name]) => isKept(name!, linked));
  const keys = new Map(
    scenarios.map((scenario) => [scenario.id, keyOf(scenario, { start, evidence: evidence.get(scenario.id)!, tests })]),
  );
  const known = readRedFirst(userState);
  const open = scenarios.filter(({ id }) => known[keys.get(id)!] === undefined);
  const tried = open.length === 0 ? new Map<string, RedFirst>() : await tryOpen();
  if (tried === null) return { kind: 'interrupted' };
  const decided = [...tried].filter(
    (entry): entry is [string, 'failed' | 'absent' | 'passed'] => entry[1] !== 'not-tried',
  );
  if (decided.length > 0)
    addRedFirst(userState, Object.fromEntries(decided.map(([id, result]) => [keys.get(id)!, result])));
  return {
    kind: 'tried',
    results: new Map(scenarios.map(({ id }) => [id, tried.get(id) ?? known[keys.get(id)!] ?? 'not-tried'])),
  };

  async function tryOpen(): Promise<ReadonlyMap<string, RedFirst> | null> {
    const names = [...changes].filter(([name, { new: now }]) => !isDeleted(now) && isKept(toUtf8(name), linked));
    context.emit({ type: 'notice', text: 'Trying what proves the scenarios without the change (--red-first).' });
    const files = { from: checkpoint!, names: names.map(([name]) => name) };
    const { iteration } = findings;
    const before = await runTrial(context, { name: 'red-first', iteration, commit: start!, files });
    if (before.kind === 'interrupted') return null;
    if (before.kind === 'failed') return untried(context, before.why, notTried);
    const results = new Map(
      open.map((scenario): [string, RedFirst] => {
        const found = evidenceIn(scenario, findings, before);
        return [scenario.id, judgeRedFirst(found, { commands: before.commands, linked })];
      }),
    );
    if ([...results.values()].every((result) => result === 'passed')) return results;
    const after = await runTrial(context, { name: 'red-first-control', iteration, commit: checkpoint! });
    if (after.kind === 'interrupted') return null;
    const doesPass = (scenario: Scenario) =>
      after.kind === 'done' && evidenceIn(scenario, findings, after).every(({ outcome }) => outcome === 'passed');
    if (after.kind === 'failed' || !open.every(doesPass))
      return untried(context, after.kind === 'failed' ? after.why : 'the commands do not pass there', notTried);
    return results;
  }
};

const untried = (
  { emit, options }: RedFirstContext,
  why: string,
  notTried: ReadonlyMap<string, RedFirst>,
): ReadonlyMap<string, RedFirst> => {
  const help = options.worktreeSetup === null ? ' If they need packages or a build, set worktreeSetup.' : '';
  emit({ type: 'notice', text: `--red-first could not try the tests in a separate worktree: ${why}.${help}` });
  return notTried;
};

const isDeleted = (entry: string): boolean => entry.startsWith('000000');

const evidenceIn = (
  scenario: Scenario,
  { scenarios, scenarioCommands }: GateFindings,
  { commands, sources }: Trial & { kind: 'done' },
): Evidence[] => {
  const links = linkScenarios({ scenarios, sources, results: commands.flatMap(({ tests }) => tests) });
  return evidenceFor(scenario, { commands, scenarioCommands, links });
};

/** Identifies a scenario, what proves it, the files of the tests, and the code from before. */
const keyOf = (
  { id, verify }: Scenario,
  {
    start,
    evidence,
    tests,
  }: { readonly start: string; readonly evidence: readonly Evidence[]; readonly tests: readonly (readonly string[])[] },
): string => {
  const named = evidence.map(({ command, test }) => [command, test]);
  const parts = [id, verify, start, named, tests];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
};
