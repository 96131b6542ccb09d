import { isTestSide } from '../../guard/weakened-tests/languages.ts';
import { hasFailed } from '../../ralph/gate-result.ts';
import type { Evidence } from '../../ralph/proof.ts';
import type { CommandResult } from '../../proof/next-ledger.ts';

/**
 * Whether a file of the change stays when its evidence is tried on the code from before: tests and what they use do, the
 * code that they test does not. Rust has tests in the files of the code, which go with it.
 */
export const isKept = (path: string, linked: ReadonlySet<string>): boolean =>
  isTestSide(path) || (linked.has(path) && !path.endsWith('.rs'));

/** What evidence did without the change. `not-tried` if nothing can be said. */
export const judgeRedFirst = (
  evidence: readonly Evidence[],
  { commands, linked }: { readonly commands: readonly CommandResult[]; readonly linked: ReadonlySet<string> },
): 'failed' | 'absent' | 'passed' | 'not-tried' => {
  if (evidence.some(({ outcome }) => outcome === 'failed')) return 'failed';
  const missing = evidence.filter(({ outcome }) => outcome === 'not-run');
  // A test without a result could not be loaded if a command has failed, and was not there if its file was not kept.
  const isBroken = commands.some(hasFailed);
  const isAbsent = ({ file }: Evidence) => isBroken || (file !== null && !isKept(file, linked));
  if (evidence.length === 0) return isBroken ? 'absent' : 'not-tried';
  if (missing.some(isAbsent)) return 'absent';
  return missing.length > 0 ? 'not-tried' : 'passed';
};
