import { readSafely } from '../files/safe.ts';
import type { Ledger } from '../ralph/proof.ts';
import { isResumable, type RunView } from '../ralph/view.ts';
import type { ChangeRef } from './change-ref.ts';
import { adoptHandover } from './handover.ts';
import { checkpointsFile, historyFile, stepsFile, tipsFile } from './paths.ts';
import { writeStart, writeState } from './save-state.ts';
import { withWorkspace, writeTransferred } from './transfer.ts';
import { recordBase } from './user-state/branches.ts';
import { userStateFolder } from './user-state/folder.ts';
import { saveVersion } from './user-state/identity.ts';
import { adoptLedger } from './user-state/ledger.ts';
import { appendLine, linesIn } from './user-state/lines.ts';

/*
 * Brings a run of a worker into a project whose user may land it, continue it, and start other runs. The worker is
 * another user, whose agents may have written what it sends. So only what describes this run is taken: no context, no
 * accepted goal, no landing, no prompt, no other run, and no command that was set on the worker's machine. Its handover
 * notes are quoted in prompts anyway, and its ledger names the worker.
 */

export interface AdoptedRun {
  readonly view: RunView;
  /** What a person asked for. */
  readonly prompt: string;
  readonly branch: string;
  /** The branch to land on. */
  readonly base: string;
  /** All files of the change, as the worker has sent them. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** What is believed of its ledger; null if there is none. */
  readonly ledger: Ledger | null;
}

export const adoptRun = (of: ChangeRef, adopted: AdoptedRun): void => {
  const { view: sent, prompt, branch, base, files, ledger } = adopted;
  const { project, change } = of;
  const { run } = sent;
  const view = withWorkspace(of, withoutCommands(sent)) as RunView;
  const about = [...files].filter(([path]) => isAbout(run, path)).map(withOwnHistory(of));
  writeTransferred(of, new Map([...about, [`state/runs/${run}/user-prompt.md`, Buffer.from(prompt)]]));
  const folder = userStateFolder(project, change, of.env);
  saveVersion(folder, view, view);
  recordBase(folder, branch, base);
  addLines(tipsFile(folder), linesAbout(run, files.get('record/tips')));
  addLines(checkpointsFile(folder), linesAbout(run, files.get('record/checkpoints')));
  addLines(stepsFile(folder), [`${run} running`, ...(isResumable(view) ? [] : [`${run} ${view.status}`])]);
  adoptHandover(of, run, files.get('record/handover.json'));
  if (ledger !== null) adoptLedger(of, ledger);
  writeStart(project, view);
  writeState(project, view);
};

/** The settings that run something. The user's own are those of this machine. */
const commandSettings: ReadonlySet<string> = new Set(['verify', 'notify', 'worktreeSetup']);

const withoutCommands = (view: RunView): RunView => {
  if (view.settings === null) return view;
  const { explicit, given = {}, ...settings } = view.settings;
  return {
    ...view,
    settings: {
      ...settings,
      explicit: explicit.filter((name) => !commandSettings.has(name)),
      given: Object.fromEntries(Object.entries(given).filter(([name]) => !commandSettings.has(name))),
    },
  };
};

const isAbout = (run: string, path: string): boolean =>
  path === 'state/history.jsonl' || path.startsWith('state/copies/') || path.startsWith(`state/runs/${run}/`);

/** The history of the project keeps its own lines. */
const withOwnHistory =
  ({ project, change }: ChangeRef) =>
  ([path, content]: [string, Buffer]): [string, Buffer] => {
    if (path !== 'state/history.jsonl') return [path, content];
    const own = readSafely(historyFile(project, change), Infinity)?.toString('utf8') ?? '';
    const known = new Set(content.toString('utf8').split('\n'));
    const kept = own.split('\n').filter((line) => line !== '' && !known.has(line));
    return [path, Buffer.concat([Buffer.from(kept.map((line) => `${line}\n`).join('')), content])];
  };

const linesAbout = (run: string, content: Buffer | undefined): string[] =>
  (content?.toString('utf8') ?? '').split('\n').filter((line) => line.startsWith(`${run} `));

/** A run that was fetched before is not recorded twice. */
const addLines = (path: string, lines: readonly string[]): void => {
  const known = new Set(linesIn(path));
  for (const line of lines) if (!known.has(line)) appendLine(path, `${line}\n`);
};
