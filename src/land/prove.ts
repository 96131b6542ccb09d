import { join } from 'node:path';
import { scenarioIdsElsewhere } from '../changes/scenarios/elsewhere.ts';
import { scenariosOf } from '../changes/scenarios/scenarios.ts';
import { linkScenarios } from '../proof/links.ts';
import { type CommandResult, nextLedger } from '../proof/next-ledger.ts';
import { readSourceLinks } from '../proof/source-files.ts';
import { whyNotProven } from '../proof/why-unproven.ts';
import { countProof } from '../ralph/ledger.ts';
import type { Ledger, Scenario } from '../ralph/proof.ts';
import { shortCountText } from '../ralph/proof-rows.ts';
import { createRedactor } from '../secrets/redact.ts';
import { readState } from '../store/state.ts';
import { readLedger } from '../store/user-state/ledger.ts';
import type { Landing } from './landing.ts';

/** What the commands of a landing have proven about what would land. */
export interface LandProof {
  readonly ledger: Ledger;
  /** Why not every scenario is proven; null if all are. */
  readonly why: string | null;
}

interface Verified {
  /** The rebased commit, which is in the staging worktree. */
  readonly commit: string;
  readonly commands: readonly CommandResult[];
}

/** Computes the ledger of what would land, from the results of the landing and of nothing else. */
export const proveLanding = async (landing: Landing, { commit, commands }: Verified): Promise<LandProof> => {
  const { project, change, env, staging, prefix, settings, say } = landing;
  const root = join(staging, prefix);
  const scenarios = scenariosIn(landing, root);
  const { links: sources } = await readSourceLinks(root);
  const view = await readState(project, change);
  const previous = readLedger({ project, change, env });
  const ledger = nextLedger(
    {
      change,
      run: view?.run ?? '',
      iteration: view?.finishedIterations ?? 0,
      checkpoint: null,
      commit,
      at: new Date().toISOString(),
      scenarios,
      links: linkScenarios({
        scenarios,
        sources,
        results: commands.flatMap(({ tests }) => tests),
        elsewhere: await scenarioIdsElsewhere(project, change),
      }),
      commands,
      scenarioCommands: settings.proof?.scenarioCommands ?? {},
    },
    previous,
  );
  say(`Scenarios: ${shortCountText(countProof(ledger.scenarios))}`);
  return {
    ledger: createRedactor(env).data(withRedFirst(ledger, previous)),
    why: whyNotProven(ledger.scenarios),
  };
};

/** Those that would land. If the change is not on the branch, for example because git ignores it, those of the project. */
const scenariosIn = ({ project, target }: Landing, root: string): readonly Scenario[] => {
  const landed = scenariosOf(target, root);
  return landed.length > 0 ? landed : scenariosOf(target, project.root);
};

/** A landing does not try the tests without the change: what the gate has found out stays. */
const withRedFirst = (ledger: Ledger, previous: Ledger | null): Ledger => {
  const tried = new Map(previous?.scenarios.map(({ id, redFirst }) => [id, redFirst]));
  return {
    ...ledger,
    scenarios: ledger.scenarios.map((row) => {
      const redFirst = tried.get(row.id);
      return redFirst === undefined ? row : { ...row, redFirst };
    }),
  };
};
