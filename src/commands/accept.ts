import { existsSync } from 'node:fs';
import { refuseAgents } from './user/refuse-agents.ts';
import { changeOf, resolveChange } from '../changes/sources.ts';
import { readConfig } from '../config/file.ts';
import { findProject, type Project } from '../store/project.ts';
import { acceptGoal, describeTampering } from '../guard/guard.ts';
import type { Tampering } from '../guard/memory.ts';
import { namedIn } from '../trust/settings.ts';
import { acceptWeakened } from '../run/gate/weakened-tests.ts';
import { acceptRepository } from '../run/workspace/repository.ts';
import { addTrust } from '../trust/store.ts';
import { acceptContext } from '../store/added-context.ts';
import { userStateFolder } from '../store/user-state/folder.ts';
import { withSecrets } from '../store/user-state/identity.ts';
import { readState } from '../store/state.ts';
import { gateCommands } from '../ralph/plan.ts';
import { pluralise } from '../text/format.ts';
import { createRedactor } from '../secrets/redact.ts';
import { redactedTerminal } from '../report/redacted.ts';
import { visible } from '../text/escape-hidden.ts';
import type { Invocation } from './registry/command.ts';

/** How many edits are listed. */
const maxListed = 20;

/** A running loop uses the accepted goal for its next promise; otherwise the next run does. */
export const run = async ({ args, cwd, env, ...call }: Invocation): Promise<number> => {
  const terminal = redactedTerminal(call.terminal, env);
  const project = findProject(cwd);
  const change = await resolveChange(project, args[0]!);
  const view = await readState(project, change);
  refuseAgents('accept');
  const root = view?.workspace && existsSync(view.workspace.root) ? view.workspace.root : project.root;
  const folder = userStateFolder(project, change, env);
  const commands = view ? gateCommands(withSecrets(folder, view).gate) : [];
  const target = await changeOf(project, change, view?.source ?? null);
  const differences = acceptGoal({ project: { root }, change: target, commands, folder });
  const context = acceptContext({ project, change, env });
  if (context) terminal.print('Accepted the current context.txt.\n');
  const repository = await acceptRepository({ project, change, env });
  if (repository !== null) terminal.print(`Accepted the git repository ${visible(repository)}.\n`);
  const weakened = view?.gate.requireScenarios
    ? await acceptWeakened(project, { change, run: view.run, root, env })
    : [];
  if (differences.length + weakened.length === 0 && (context || repository !== null)) return 0;
  if (differences.length + weakened.length === 0) {
    terminal.print(`Nothing to accept: the goal of ${change} is unchanged.\n`);
    return 0;
  }
  await trustAccepted({ project, root, env }, differences);
  const redactor = createRedactor(env);
  const sentences = [...differences.map((each) => describeTampering(each, redactor)), ...weakened];
  for (const sentence of sentences.slice(0, maxListed)) terminal.print(`  ${redactor.oneLine(sentence)}\n`);
  if (sentences.length > maxListed) terminal.print(`  and ${pluralise(sentences.length - maxListed, 'more change')}\n`);
  terminal.print(`Accepted the current goal of ${change}.\n`);
  return 0;
};

interface AcceptedIn {
  readonly project: Project;
  /** The folder in which the agent works. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Accepted scripts that the config file runs are trusted in their current form, so landing can run them too. */
const trustAccepted = async ({ project, root, env }: AcceptedIn, differences: readonly Tampering[]): Promise<void> => {
  const accepted = new Set(differences.flatMap((each) => (each.kind === 'task' ? [] : [`./${each.key}`])));
  const { files } = namedIn({ root }, await readConfig(project));
  const scripts = files.filter(({ source }) => accepted.has(source));
  if (scripts.length > 0) await addTrust(env, project, scripts);
};
