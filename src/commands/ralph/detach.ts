import { closeSync, existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { removeEmptyProject } from '../../changes/new-change.ts';
import { userError } from '../../errors.ts';
import { flagNames, flags, isNegated, optionFlag, type Options } from '../../config/flags.ts';
import { renameEarlier } from '../../files/rename-earlier.ts';
import { openSafely, readSafely, removeSafely, renameSafely, writeSafely } from '../../files/safe.ts';
import { type BackgroundProcess, startBackground } from '../../process/background.ts';
import { notifyVariable } from '../../process/environment.ts';
import { isInsideIteration } from '../../process/tree.ts';
import { hideStateFromGit, newPrivateFolder } from '../../store/folders.ts';
import { outputLog, runFolder, startLog, stateFolder } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import { safeJson } from '../../text/controls.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { Invocation } from '../registry/command.ts';
import { confirmOn } from '../user/consent.ts';
import { answer, messageLines, say } from '../../report/message.ts';
import { detachedVariable, type FromBackground, type ToBackground } from './detach-messages.ts';

export interface DetachRequest {
  readonly invocation: Invocation;
  readonly project: Project;
  /** Empty if the background process creates the change from the prompt. */
  readonly changes: readonly string[];
  /** The module of a new change. */
  readonly module?: string | null;
  readonly prompt: string;
  readonly options: Options;
}

type Started = FromBackground & { readonly type: 'started' };

/**
 * Runs the changes in the background, and returns when the first of them has started. Questions are asked here. If
 * nothing could be started, it prints what the background process has printed and returns its exit code.
 */
export const startDetached = async (request: DetachRequest): Promise<number> => {
  const { invocation, project, options } = request;
  const { cwd, env, terminal } = invocation;
  if (isInsideIteration()) throw userError('in-iteration', 'ralph --detach');
  const isNewProject = !existsSync(dirname(stateFolder(project)));
  hideStateFromGit(project);
  const log = startLog(project);
  const output = openSafely(log, 'create');
  const mayPrompt = options.interactive && !options.json && terminal.canPrompt;
  const said = new Set<string>();
  let hasStarted: (started: Started) => void;
  const started = new Promise<Started>((resolve) => (hasStarted = resolve));
  const child = startBackground<ToBackground['answer']>({
    args: argsOf(request),
    cwd,
    env: { ...env, ...notifyOf(request), [detachedVariable]: mayPrompt ? 'ask' : 'silent' },
    output,
    onMessage: async (message) => {
      const sent = message as FromBackground;
      if (sent.type === 'say') sent.lines.forEach((line) => said.add(line));
      if (sent.type === 'notice') said.add(sent.text);
      if (sent.type !== 'started') return answerQuestion(request, sent);
      hasStarted(sent);
      return undefined;
    },
  });
  closeSync(output);
  const first = await Promise.race([started, child.exited]);
  if (typeof first !== 'object') {
    const code = reportFailure(request, { log, said, end: first });
    if (isNewProject) removeEmptyProject(project);
    return code;
  }
  const kept = outputLog(runFolder(project, first.change, first.run));
  moveLog(log, kept);
  child.release();
  const changes = request.changes.length === 0 ? [first.change] : request.changes;
  announce({ ...request, changes }, child, { ...first, output: relative(cwd, kept) });
  return 0;
};

/**
 * The same command line, for the changes that were chosen here. Others can read it, agents included, and it has a
 * maximum length, so it has neither the prompt nor addresses of notifications.
 */
const argsOf = ({ invocation, changes, module = null, prompt }: DetachRequest): string[] => {
  const { rawFlags, env } = invocation;
  const kept = flagNames.filter((name) => rawFlags[name] !== undefined && !decidedHere.has(name));
  const typed = kept.flatMap((name) => {
    const value = rawFlags[name]!;
    const flag = optionFlag({ name, negated: isNegated(flags[name]) });
    return typeof value === 'boolean' ? [flag] : [value].flat().map((each) => `${flag}=${each}`);
  });
  const chosen =
    rawFlags.file !== undefined
      ? []
      : changes.length > 0
        ? changes.map((change) => `--change=${change}`)
        : ['--new', ...(module === null ? [] : [`--module=${module}`])];
  return ['ralph', ...chosen, ...typed, '--no-interactive', ...(prompt === '' ? [] : [promptFlag(prompt, env)])];
};

/** The file is deleted when this process exits. By then, the run has started. */
const promptFlag = (prompt: string, env: NodeJS.ProcessEnv): string => {
  const file = join(newPrivateFolder(env), 'prompt.md');
  writeSafely(file, prompt, 'create');
  return `--prompt-file=${file}`;
};

const notifyOf = ({ invocation: { rawFlags } }: DetachRequest): NodeJS.ProcessEnv =>
  rawFlags.notify === undefined ? {} : { [notifyVariable]: [rawFlags.notify].flat().join('\n') };

const decidedHere: ReadonlySet<string> = new Set([
  'detach',
  'change',
  'module',
  'all',
  'new',
  'promptFile',
  'notify',
  'interactive',
  'json',
]);

/** Shows a message of the background process, or asks its question and returns the answer. */
const answerQuestion = async (
  { invocation, project }: DetachRequest,
  message: Exclude<FromBackground, Started>,
): Promise<ToBackground['answer'] | undefined> => {
  const { terminal } = invocation;
  switch (message.type) {
    case 'say':
      terminal.log(`${message.lines.join('\n')}\n`);
      return undefined;
    case 'notice':
      say(terminal, message.text);
      return undefined;
    case 'confirm':
      return (await confirmOn(terminal)?.(message.question)) ?? false;
    case 'resume':
    case 'until': {
      const { createPerson } = await import('./start.ts');
      if (message.type === 'until') return createPerson({ project, invocation }, '').chooseUntil(message.passed);
      return createPerson({ project, invocation }, message.view.change).agreesToResume(message.view);
    }
  }
};

/** The output of a resumed run continues in a new file. The process writes to it under any name. */
const moveLog = (from: string, to: string): void => {
  try {
    renameSafely(from, renameEarlier(to));
  } catch {
    // The run has started; only its output keeps its first name.
  }
};

interface Failure {
  readonly log: string;
  /** Lines that were shown already. */
  readonly said: ReadonlySet<string>;
  readonly end: number | string;
}

const reportFailure = ({ invocation: { terminal } }: DetachRequest, { log, said, end }: Failure): number => {
  const printed = readSafely(log)?.toString('utf8') ?? '';
  removeSafely(log);
  const others = printed.split('\n').filter((line) => !said.has(line));
  terminal.log(others.flatMap((line) => messageLines(line, terminal)).join('\n'));
  if (typeof end === 'number') return end;
  throw userError('background-killed', end);
};

interface Announced extends Started {
  readonly output: string;
}

const announce = (
  { invocation: { terminal }, changes, options }: DetachRequest,
  { pid }: BackgroundProcess,
  { change, run, output }: Announced,
): void => {
  if (options.json) return terminal.print(`${safeJson({ changes, change, run, pid, output })}\n`);
  const isOne = changes.length === 1;
  const what = isOne ? `${change} is running` : `${changes.length} changes run`;
  answer(
    terminal,
    [
      `${what} in the background (PID ${pid}, run ${run}).`,
      `  Follow  ${isOne ? commandLine('spool', 'logs', change, '-f') : 'spool watch'}`,
      `  Stop    ${isOne ? commandLine('spool', 'stop', change) : 'spool stop --all'}`,
      `  Output  ${output}`,
    ].join('\n'),
  );
};
