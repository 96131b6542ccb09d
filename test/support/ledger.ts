import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ledger, Proof, ScenarioProof } from '../../src/ralph/proof.ts';
import type { TestProject } from './project.ts';

/** What `spool proof --json` prints about scenarios. */
export interface PrintedProof {
  readonly proven: boolean;
  readonly archived: boolean;
  readonly count: Record<string, number>;
  readonly gate: object | null;
  readonly scenarios: readonly ScenarioProof[];
  readonly unknown: Ledger['unknown'];
  readonly run: { readonly status: string; readonly iterations: number } | null;
}

/** Writes the ledger of a change that was run, as its gate does, with all of these scenarios proven. */
export const writeLedger = (
  project: TestProject,
  change: string,
  scenarios: readonly ScenarioProof[],
  unknown: Ledger['unknown'] = [],
): void => {
  const projects = join(project.home, '.local/state/spool/projects');
  const folder = join(projects, readdirSync(projects)[0]!, change);
  mkdirSync(folder, { recursive: true });
  const { run } = project.state(change);
  const at = '2026-01-02T03:30:00.000Z';
  const proof = (hash: string, title: string): Proof => ({
    kind: 'test',
    command: 'npm test',
    exitCode: 0,
    test: `login > ${title}`,
    file: 'test/login.test.ts',
    outcome: 'passed',
    hash,
    run,
    iteration: 1,
    checkpoint: null,
    commit: project.git('rev-parse', 'HEAD'),
    at,
  });
  const rows = scenarios.map((row): ScenarioProof => {
    const {
      hash: _,
      run: __,
      iteration: ___,
      checkpoint: ____,
      commit: _____,
      at: ______,
      ...evidence
    } = proof(row.hash, row.title);
    return { ...row, state: 'proven', reason: null, evidence: [evidence], proof: proof(row.hash, row.title) };
  });
  const ledger: Ledger = { v: 1, change, run, iteration: 1, at, scenarios: rows, unknown };
  writeFileSync(join(folder, 'ledger.json'), JSON.stringify(ledger));
};
