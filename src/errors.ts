import { commandLine } from './text/shell-words.ts';
/**
 * Every error a user can cause, with its exit code: 2 for usage and configuration, 1 for what the machine lacks.
 * docs/errors.md lists the same codes, and a test fails when the two differ.
 * Each text is one line: what is wrong, where, what to do.
 */
const table = {
  usage: { exit: 2, text: (message: string) => message },
  'bad-value': {
    exit: 2,
    text: (where: string, wanted: string, got: string) => `${where} ${wanted}, not ${quote(got)}.`,
  },
  'min-above-max': {
    exit: 2,
    text: (min: number, max: number) =>
      `--min-iterations ${min} is above --max-iterations ${max}: lower the one or raise the other.`,
  },
  'same-promise': {
    exit: 2,
    text: (promise: string) =>
      `--completion-promise and --blocked-promise are both ${quote(promise)}: they must differ.`,
  },
  'unchecked-limit': {
    exit: 2,
    text: (flag: string, why: string, instead: string) =>
      `${flag} cannot be checked: ${why}. Use ${instead} instead ("${flag} unlimited" drops it).`,
  },
  'two-prompts': { exit: 2, text: () => 'Both a prompt and --prompt-file were given: keep one of them.' },
  'two-actions': {
    exit: 2,
    text: (first: string, second: string) => `${first} and ${second} cannot be used together.`,
  },
  'no-sandbox': {
    exit: 1,
    text: (why: string, fix: string) => `The sandbox cannot be used, and nothing was run: ${why}. ${fix}`,
  },
  'not-sandboxed': {
    exit: 2,
    text: (flag: string, variable: string) =>
      `${flag} (${variable}) widens a sandbox, and this would run without one. Add --sandbox, or leave it out.`,
  },
  'bad-config': { exit: 2, text: (file: string, problem: string) => `${file}: ${cut(problem)}` },
  'no-project': {
    exit: 2,
    text: (from: string) => `No .spool folder in ${from} or above it. Run "spool init" in your project first.`,
  },
  'foreign-project': {
    exit: 2,
    text: (root: string, uid: number) =>
      `The project in ${root} belongs to another user (${uid}), so Spool does not work in it. Run Spool as that user, or set SPOOL_OWNER=${uid} if you trust what is in it.`,
  },
  'untrusted-project': {
    exit: 2,
    text: (root: string, hash: string, pinned: boolean) =>
      `${root} would run the above, which you have not trusted${pinned ? ', and SPOOL_TRUST pins something else' : ''}. Trust it with "spool trust", or for this call with SPOOL_TRUST=${hash}`,
  },
  'untrusted-copy': {
    exit: 2,
    text: (path: string, source: string, see: string) =>
      `${source} would run ${path}, which is not the file that you have trusted; nothing of it was run. See: ${see}. To run it, have it in the project folder and trust it there with "spool trust"; otherwise commit the trusted one, or give a command of your own, such as with --verify or SPOOL_WORKTREE_SETUP.`,
  },
  'change-required': {
    exit: 2,
    text: (ids: readonly string[]) => `--change is required when nobody can be asked. ${activeChanges(ids)}`,
  },
  'no-changes': {
    exit: 2,
    text: (where: string) => `No active change in ${where}. Make one with "spool create change <slug> --module <id>".`,
  },
  'unknown-change': {
    exit: 2,
    text: (query: string, near: string | null, ids: readonly string[]) =>
      `No change ${quote(query)} in .spool/changes${near ? ` (did you mean "${near}"?)` : ''}. ${activeChanges(ids)}`,
  },
  'ambiguous-change': {
    exit: 2,
    text: (query: string, matches: readonly string[]) => `${quote(query)} fits several changes: ${some(matches)}.`,
  },
  'unknown-module': {
    exit: 2,
    text: (query: string, near: string | null, ids: readonly string[]) =>
      `No module ${quote(query)} in .spool/modules${near ? ` (did you mean "${near}"?)` : ''}. ` +
      (ids.length ? `There are: ${some(ids)}.` : 'Make one with "spool create module <slug>".'),
  },
  'ambiguous-module': {
    exit: 2,
    text: (query: string, matches: readonly string[]) => `${quote(query)} fits several modules: ${some(matches)}.`,
  },
  'unknown-id': {
    exit: 2,
    text: (query: string, near: string | null) =>
      `Neither a change nor a module is called ${quote(query)}${near ? ` (did you mean "${near}"?)` : ''}. "spool list" shows them.`,
  },
  'ambiguous-id': {
    exit: 2,
    text: (query: string, matches: readonly string[]) => `${quote(query)} fits several: ${some(matches)}.`,
  },
  'module-required': {
    exit: 2,
    text: (ids: readonly string[]) =>
      `--module is required: a change belongs to a module. ` +
      (ids.length ? `There are: ${some(ids)}.` : 'Make one with "spool create module <slug>".'),
  },
  'module-mismatch': {
    exit: 2,
    text: (change: string, module: string) =>
      `Change ${change} is not part of module ${module}: drop --module or --change.`,
  },
  cancelled: { exit: 130, text: (what: string) => `Cancelled: ${what}, nothing was started.` },
  'until-passed': {
    exit: 2,
    text: (when: string, command: string, clock: string) =>
      `--until ${when} has passed. Resume with a new one: ${command} --until ${clock} (or --until none)`,
  },
  'no-proposal': {
    exit: 2,
    text: (change: string, file: string) => `Change ${change} has no proposal: write ${file} first.`,
  },
  'empty-proposal': {
    exit: 2,
    text: (change: string, file: string, id: string) =>
      `${change}: proposal.md is still the empty template. Edit ${file}, or pass a prompt: ${commandLine('spool', 'ralph', '--change', id)} "…"`,
  },
  'no-tasks': {
    exit: 2,
    text: (file: string, problem: string) =>
      `--require-tasks: ${file} ${problem}. Write a task as "- [ ] …", or leave the flag out.`,
  },
  'in-iteration': {
    exit: 2,
    text: (command: string) => `Only a person can run "spool ${command}": use another terminal.`,
  },
  'bad-prompt-file': {
    exit: 2,
    text: (file: string, problem: string) => `Cannot read the prompt file ${file}: ${problem}.`,
  },
  'empty-prompt-file': { exit: 2, text: (file: string) => `The prompt file ${file} is empty.` },
  'unknown-harness': {
    exit: 2,
    text: (name: string, known: readonly string[]) => `No harness ${quote(name)}. There are: ${known.join(', ')}.`,
  },
  'missing-binary': {
    exit: 1,
    text: (binary: string, install: string, others: readonly string[]) =>
      `${binary} is not on PATH. Install it with: ${install}` +
      (others.length ? ` (or use another with --harness: ${others.join(', ')})` : ' (no other agent is on PATH)'),
  },
  'agent-in-project': {
    exit: 1,
    text: (file: string, install: string, others: readonly string[]) =>
      `${quote(file)} is in the project, and not run: anybody can have put it there. Install it outside with: ${install}, or declare it under "harnesses" in config.json` +
      (others.length ? ` (or use another with --harness: ${others.join(', ')}).` : '.'),
  },
  locked: {
    exit: 2,
    text: (change: string, owner: string) =>
      `Another run is on ${change} (${owner}). Wait for it, or stop it; "spool ralph --status --change ${change}" shows it.`,
  },
  'tree-locked': {
    exit: 2,
    text: (change: string, owner: string) =>
      `A loop on ${change} works in this folder (${owner}), and two would mix up their work. Wait for it, or stop it.`,
  },
  'create-locked': {
    exit: 2,
    text: (pid: number, host: string, file: string) =>
      `Process ${pid} on ${host} holds ${file}. Try again when it is done; if it is gone, delete the file.`,
  },
  'no-git': { exit: 2, text: (folder: string, problem: string) => `No git work tree at ${folder}: ${problem}.` },
  'no-commit': { exit: 2, text: () => 'A worktree needs a commit to start from: commit something first.' },
  'bad-branch': { exit: 2, text: (branch: string, problem: string) => `Cannot work on branch ${branch}: ${problem}` },
  'copies-differ': {
    exit: 2,
    text: (files: string, how: string) =>
      `Conflict in ${files}: the same lines were changed in the project and in the worktree. To use yours: ${how}`,
  },
  'setup-failed': {
    exit: 1,
    text: (command: string, log: string) =>
      `The setup of the worktree failed (${command}): see ${log}. Nothing was started.`,
  },
  'no-branch': {
    exit: 2,
    text: (branch: string, how: string) => `No branch ${branch} to land. Create it with: ${how}`,
  },
  'no-base': {
    exit: 2,
    text: (branch: string) => `Nobody knows where ${branch} began: give the branch to land on with --onto.`,
  },
  'not-complete': {
    exit: 2,
    text: (change: string, why: string) => `${change} is not complete (${why}). Land it anyway with --force.`,
  },
  'dirty-worktree': {
    exit: 2,
    text: (worktree: string, branch: string, what: string) =>
      `There is work in ${worktree} that is not on ${branch}: ${what}. Commit it there first.`,
  },
  'land-conflict': {
    exit: 1,
    text: (base: string, files: string, how: string) =>
      `It conflicts with ${base} in ${files}; nothing was moved. The next run is told: ${how}`,
  },
  'land-red': {
    exit: 1,
    text: (command: string, log: string) =>
      `${quote(command)} fails on top of the base; nothing was moved. See ${log}.`,
  },
  'blocked-git': {
    exit: 2,
    text: (why: string) => `git cannot be asked: ${why}.`,
  },
  'land-moved': {
    exit: 1,
    text: (command: string, name: string) =>
      `${name} decides whether the work is verified, and was changed while "${command}" ran. Nothing was moved.`,
  },
  'land-blocked': {
    exit: 2,
    text: (files: string, base: string) =>
      `Nothing was landed: it would overwrite what is not committed on ${base}: ${files}. Commit it, or move it away first.`,
  },
  'not-kept': {
    exit: 1,
    text: (folder: string) =>
      `Nothing was landed: what is in its way in ${folder} could not be kept first. See "git status" there.`,
  },
  interrupted: {
    exit: (code: number) => code,
    text: (_code: number, so: string) => `Interrupted: ${so}.`,
  },
  'no-checkpoint': {
    exit: 2,
    text: (change: string, name: string | null, there: readonly string[]) =>
      there.length === 0
        ? `No checkpoint of ${change} yet: a run makes them.`
        : `No checkpoint ${quote(name ?? '')} of ${change}. There are: ${some(there)}.`,
  },
  'in-the-way': {
    exit: 2,
    text: (files: string) =>
      `Nothing was rewound: it would overwrite what no checkpoint holds (ignored, or in a nested repository): ${files}. Move it away first.`,
  },
  'workspace-gone': {
    exit: 2,
    text: (folder: string) =>
      `That run worked in ${folder}, which is gone: there is nothing to rewind. Its work is on its branch.`,
  },
  'half-rewound': {
    exit: 1,
    text: (files: string, back: string) => `Not all could be put back: ${files}. Undo it with: ${back}`,
  },
  'yes-required': { exit: 2, text: (what: string) => `This ${what}: give --yes when nobody can be asked.` },
  'bad-state': {
    exit: 2,
    text: (file: string, problem: string) =>
      `${file} ${problem}. Nothing was changed; move the file away to start anew.`,
  },
  'forged-checkpoint': {
    exit: 2,
    text: (change: string, name: string) =>
      `Checkpoint ${name} of ${change} is not what Spool has kept under that name: somebody has moved it. Nothing was changed.`,
  },
  'changed-run': {
    exit: 2,
    text: (change: string, names: readonly string[]) =>
      `The interrupted run of ${change} is not resumed: its state.json was changed, and not by Spool (${names.join(', ')}). Start a new one with --fresh.`,
  },
  'missing-run': {
    exit: 2,
    text: (change: string, run: string, verify: readonly string[]) => {
      const gate = verify.map((command) => ` ${commandLine('--verify', command)}`).join('');
      return `The last run of ${change} (${run}) was not finished, and state.json does not have it any more. Start a new one with --fresh${gate}.`;
    },
  },
  'unknown-run': {
    exit: 2,
    text: (change: string) =>
      `The interrupted run of ${change} was not started here by you, so it is not resumed without asking. Resume it once on a terminal, set SPOOL_TRUST=1 if you trust it, or start a new one with --fresh.`,
  },
  'changed-last-run': {
    exit: 2,
    text: (change: string, names: readonly string[]) =>
      `${change} is not landed: state.json of its last run was changed, and not by Spool (${names.join(', ')}). Run it again first, with --fresh.`,
  },
  'unknown-gate': {
    exit: 2,
    text: (change: string) =>
      `${change} was not run here by you, so the verify commands of its last run are not run. Give them with --verify, or set SPOOL_TRUST=1 if you trust them.`,
  },
  'redacted-run': {
    exit: 2,
    text: (change: string, flag: string) =>
      `The last run of ${change} was started elsewhere, and its ${flag} holds a secret, which is not written into the project. Give ${flag} again.`,
  },
  'bad-slug': {
    exit: 2,
    text: (slug: string, better: string | null) =>
      `${quote(slug)} is not a slug (lower-case words joined by "-")${better ? `: try "${better}"` : ''}.`,
  },
  'numbers-used-up': { exit: 2, text: (what: string) => `All numbers for ${what} are used.` },
  'open-tasks': {
    exit: 2,
    text: (change: string, open: number, all: number) =>
      `${open} of ${all} tasks of ${change} are open. Finish them, or archive it as it is with --force.`,
  },
  'already-archived': { exit: 2, text: (target: string) => `${target} exists already: move it away first.` },
  'unsafe-file': {
    exit: 2,
    text: (path: string, why: string) => `${path} ${why}, so Spool does not use it. Remove it and try again.`,
  },
  'too-large': {
    exit: 2,
    text: (path: string, limit: number) =>
      `${path} is larger than ${limit / 1024 / 1024} MB, so Spool does not read it. Shorten it and try again.`,
  },
  'planted-link': {
    exit: 1,
    text: (path: string, target: string) =>
      `${path} became a link to ${target} in the sandbox, so the run was ended before git wrote there. The link was removed: look at "git status" and at what the agent did.`,
  },
  'other-repository': {
    exit: 2,
    text: (root: string, then: string, now: string, accept: string) =>
      `git has another repository for ${root} than in the last run: it was ${then}, and is ${now}. Nothing was run. If you have moved it yourself, accept it with: ${accept}`,
  },
  'replaced-git': {
    exit: 1,
    text: (path: string) =>
      `${path} was replaced during the run, so the run was ended before git wrote to another repository. Look at what it is now, and at what the agent did.`,
  },
  io: { exit: 1, text: (path: string, problem: string) => `Cannot use ${path}: ${problem}.` },
} as const;

interface Row {
  readonly exit: number | ((...facts: unknown[]) => number);
  readonly text: (...facts: unknown[]) => string;
}

export type ErrorCode = keyof typeof table;

export const errorCodes = Object.keys(table) as ErrorCode[];

/** An error that is the user's to mend. Anything else that is thrown is a bug in Spool. */
export class UserError extends Error {
  readonly code: ErrorCode;
  readonly exitCode: number;

  constructor(code: ErrorCode, message: string, exitCode: number) {
    super(message.replaceAll(/(?<!\s)\s*\n\s*/g, ' '));
    this.code = code;
    this.exitCode = exitCode;
  }
}

export const userError = <Code extends ErrorCode>(code: Code, ...facts: Parameters<(typeof table)[Code]['text']>) => {
  const { exit, text } = table[code] as Row;
  return new UserError(code, text(...facts), typeof exit === 'number' ? exit : exit(...facts));
};

/** The plain words for what the operating system answered. */
export const systemProblem = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EISDIR':
      return 'it is a folder';
    case 'ENOTDIR':
      return 'a part of the path is not a folder';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    case 'EROFS':
      return 'the file system is read-only';
    default:
      return code ?? (error instanceof Error ? error.message : String(error));
  }
};

/** Rethrows what the system said with the path it was about: Node leaves it out for open files. */
export const atPath =
  (path: string) =>
  (error: unknown): never => {
    throw Object.assign(error as Error, { path });
  };

/** For what a file says: a value in it can be as long as the file. */
const cut = (text: string, longest = 1000) => (text.length > longest ? `${text.slice(0, longest)}…` : text);

const quote = (text: string) => JSON.stringify(text);

const activeChanges = (ids: readonly string[]) =>
  ids.length ? `Active changes: ${some(ids)}.` : 'There is no active change; see "spool create change --help".';

const some = (ids: readonly string[]) =>
  ids.length > 10 ? `${ids.slice(0, 10).join(', ')} and ${ids.length - 10} more` : ids.join(', ');
