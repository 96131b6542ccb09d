import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { planningFoldersOf } from '../../changes/spool/create.ts';
import { readConfig } from '../../config/file.ts';
import { configSchema } from '../../config/schema.ts';
import { userError } from '../../errors.ts';
import { createFolder } from '../../files/folders.ts';
import { writeSafely } from '../../files/safe.ts';
import { agentProgram } from '../../harness/program.ts';
import { harnesses } from '../../harness/registry.ts';
import { isInsideIteration } from '../../process/tree.ts';
import { isOwnProject, lookForProject, type Project } from '../../store/project.ts';
import { hideStateFromGit } from '../../store/folders.ts';
import { configFile, configSchemaFile, stateIgnoreFile } from '../../store/paths.ts';
import { settingsOf, sourceOf } from '../../trust/settings.ts';
import { addTrust, readTrusted } from '../../trust/store.ts';
import { hasControls } from '../../text/names.ts';
import { answer } from '../../report/message.ts';
import type { Invocation } from '../registry/command.ts';
import { type DetectedCheck, detectVerify } from './detect-verify.ts';

/** Creates what is missing and does not touch existing files. Asks before it creates anything. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { cwd, terminal, env } = invocation;
  const found = lookForProject(cwd);
  const project = found && isOwnProject(found) ? found : { root: cwd };
  const settings = existsSync(configFile(project)) ? null : await chooseSettings(invocation, project);
  const created = [
    ...planningFoldersOf(project).flatMap(createIfMissing),
    ...(settings === null ? [] : createConfig(project, settings)),
    ...(hideStateFromGit(project) ? [stateIgnoreFile(project)] : []),
  ];
  if (created.length === 0) {
    answer(terminal, `Already a Spool project: ${project.root}`);
    return 0;
  }
  if (settings?.verify) await trustVerify(project, env);
  terminal.print(
    `Initialized Spool in ${project.root}:\n${created.map((path) => `  ${relative(project.root, path)}\n`).join('')}`,
  );
  if (settings !== null) answer(terminal, `\n${describe(settings).join('\n')}`);
  answer(terminal, '\nNext: spool ralph "Describe the change in a sentence"');
  return 0;
};

const createIfMissing = (path: string): string[] => (createFolder(path) ? [path] : []);

interface Settings {
  /** The agent to run; null if none is installed. */
  readonly agent: string | null;
  readonly installed: readonly string[];
  /** null for none. */
  readonly verify: string | null;
  readonly checks: readonly DetectedCheck[];
}

/** What was detected, or what the user chooses instead. */
const chooseSettings = async ({ env, cwd, terminal, rawFlags }: Invocation, project: Project): Promise<Settings> => {
  // What is written is trusted, so an agent must not decide it.
  if (isInsideIteration()) throw userError('in-iteration', 'init');
  const lookup = { env, cwds: [cwd, project.root] };
  const installed = harnesses.filter((harness) => agentProgram(harness, lookup) !== null).map(({ name }) => name);
  const checks = detectVerify(project.root);
  // Throws if trust.json is damaged, before anything is written.
  readTrusted(env, project);
  const detected = { agent: installed[0] ?? null, installed, verify: checks[0]?.command ?? null, checks };
  if (rawFlags.yes || !terminal.canPrompt) return detected;
  const { ask, askText } = await import('../../report/questions.ts');
  const agent = installed.length > 1 ? await ask('Which agent?', installed.map(choiceOf)) : detected.agent;
  if (agent === null && installed.length > 1) throw userError('cancelled', 'no agent was selected');
  const verify = await askText('Command that verifies the work (empty for none):', problemWith, detected.verify ?? '');
  if (verify === null) throw userError('cancelled', 'no command was given');
  return { ...detected, agent, verify: verify.trim() || null };
};

const choiceOf = (value: string) => ({ value });

const problemWith = (command: string): string | undefined =>
  hasControls(command) ? 'must be one line without control characters' : undefined;

/** The schema is copied, so that editors find it without a network and wherever Spool is installed. */
const createConfig = (project: Project, { agent, verify }: Settings): string[] => {
  const [file, schema] = [configFile(project), configSchemaFile(project)];
  const config = {
    $schema: './config.schema.json',
    ...(agent === null ? {} : { harness: agent }),
    ...(verify === null ? {} : { verify }),
  };
  writeSafely(file, `${JSON.stringify(config, null, 2)}\n`, 'create');
  if (existsSync(schema)) return [file];
  writeSafely(schema, `${JSON.stringify(configSchema(), null, 2)}\n`, 'create');
  return [file, schema];
};

/** The user has seen or chosen it. Scripts that it runs are not included: others can edit them. */
const trustVerify = async (project: Project, env: NodeJS.ProcessEnv): Promise<void> => {
  const config = await readConfig(project);
  const settings = settingsOf(project, config).filter(({ source }) => source === sourceOf('verify'));
  await addTrust(env, project, settings);
};

const describe = ({ agent, installed, verify, checks }: Settings): string[] => {
  const others = installed.filter((name) => name !== agent);
  const from = checks.find(({ command }) => command === verify)?.from;
  const otherChecks = checks.filter(({ command }) => command !== verify).map(({ command }) => command);
  return [
    agent === null
      ? 'Agent   none is installed. "spool harnesses" lists those that Spool supports.'
      : `Agent   ${agent}${others.length === 0 ? '' : ` (also installed: ${others.join(', ')})`}`,
    verify === null
      ? 'Verify  no tests found. Set a command with: spool config set verify "<command>"'
      : `Verify  ${verify}${from === undefined ? '' : ` (found in ${from})`}${otherChecks.length === 0 ? '' : `; also found: ${otherChecks.join(', ')}`}`,
  ];
};
