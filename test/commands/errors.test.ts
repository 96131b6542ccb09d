import { chmodSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, waitsFor } from '../support/agents.ts';
import { change, createProject, type ProjectOptions, type TestProject } from '../support/project.ts';

interface Row {
  readonly name: string;
  readonly args: readonly string[];
  readonly says: string;
  readonly code?: number;
  readonly files?: ProjectOptions['files'];
  readonly cwd?: string;
  readonly env?: (project: TestProject) => Record<string, string>;
}

const twoChanges = { '.spool/changes/002-02_second/proposal.md': '# Second\n' };
const run = ['ralph', 'Build it.', '--change', change];

const rows: Row[] = [
  {
    name: 'unknown flag',
    args: ['ralph', '--chnage', 'x'],
    says: `Unknown option '--chnage' (did you mean --change?). See "spool ralph --help".`,
  },
  {
    name: 'unknown command',
    args: ['ralhp'],
    says: `Unknown command 'ralhp' (did you mean "spool ralph"?). See "spool --help".`,
  },
  {
    name: 'a command named like a property of every object',
    args: ['help', 'constructor'],
    says: `Unknown command 'constructor'. See "spool --help".`,
  },
  {
    name: 'an extra argument',
    args: ['ralph', 'Build', 'it'],
    says: `Too many arguments for 'ralph': "Build" is not the ID of a change, so only a prompt is expected; quote arguments that contain spaces. See "spool ralph --help".`,
  },
  ...[
    { name: 'an ID', args: ['002-01', '002-02'], first: '002-01' },
    { name: 'an ID without leading zeros', args: ['2-1', '2-2'], first: '2-1' },
    { name: 'a whole ID', args: [change, '002-02_second'], first: change },
    { name: 'the beginning of several IDs', args: ['2-1', '002'], first: '2-1' },
    { name: 'an ID after --change', args: ['--change', '002-01', '002-02'], first: '002-01' },
  ].map(({ name, args, first }) => ({
    name: `${name} in place of the prompt`,
    args: ['ralph', ...args],
    files: twoChanges,
    says: `"${args.at(-1)}" is a change, not a prompt. To run several changes: spool ralph --change ${first} --change ${args.at(-1)}`,
  })),
  {
    name: 'missing value',
    args: ['ralph', '--change'],
    says: `Option '--change <id>' needs a value. See "spool ralph --help".`,
  },
  {
    name: 'a word instead of a number',
    args: [...run, '--max-iterations', 'many'],
    says: '--max-iterations must be a positive whole number or "unlimited" (got "many").',
  },
  {
    name: 'a negative number',
    args: [...run, '--min-iterations', '-1'],
    says: '--min-iterations must be a positive whole number (got "-1").',
  },
  {
    name: 'zero',
    args: [...run, '--max-iterations=0'],
    says: '--max-iterations must be a positive whole number or "unlimited" (got "0").',
  },
  {
    name: 'min above max',
    args: [...run, '--min-iterations', '5', '--max-iterations', '3'],
    says: '--min-iterations 5 is greater than --max-iterations 3: lower --min-iterations or raise --max-iterations.',
  },
  {
    name: 'empty promise',
    args: [...run, '--completion-promise', ' '],
    says: '--completion-promise must be one line of text without < and > (got " ").',
  },
  {
    name: 'a tag as promise',
    args: [...run, '--completion-promise', '<promise>X</promise>'],
    says: '--completion-promise must be one line of text without < and > (got "<promise>X</promise>").',
  },
  {
    name: 'empty context',
    args: ['ralph', '--add-context', '', '--change', change],
    says: '--add-context must be some text without NUL characters (got "").',
  },
  {
    name: 'unknown harness',
    args: [...run, '--harness', 'emacs'],
    says: 'No agent "emacs". Available: opencode, claude, codex, copilot, gemini, cursor-agent, pi, qwen, goose, amp, codex-acp, claude-agent-acp.',
  },
  {
    name: 'unknown change',
    args: ['ralph', '--change', '002-09'],
    says: `No change "002-09" in .spool/changes (did you mean "${change}"?). Active changes: ${change}.`,
  },
  {
    name: 'a path as change',
    args: ['ralph', '--change', '../../etc'],
    says: `No change "../../etc" in .spool/changes. Active changes: ${change}.`,
  },
  {
    name: 'a path to an archived change',
    args: ['ralph', '--change', 'archive/2026-01-31-001-01_old'],
    says: `No change "archive/2026-01-31-001-01_old" in .spool/changes. Active changes: ${change}.`,
    files: { '.spool/changes/archive/2026-01-31-001-01_old/proposal.md': '# Old\n' },
  },
  {
    name: 'an archived change',
    args: ['ralph', '1-1'],
    says: '001-01_old is archived. Read it with: spool status 001-01_old',
    files: { '.spool/changes/archive/2026-01-31-001-01_old/proposal.md': '# Old\n' },
  },
  {
    name: 'ambiguous change',
    args: ['ralph', '--change', '002'],
    says: `Change "002" is ambiguous: ${change}, 002-02_second.`,
    files: twoChanges,
  },
  {
    name: 'unknown module',
    args: ['ralph', '--module', '007'],
    says: 'No module "007" in .spool/modules (did you mean "002_ralph"?). Available: 002_ralph.',
  },
  {
    name: 'a change of another module',
    args: [...run, '--module', '003'],
    says: `Change ${change} is not part of module 003_other: remove --module or --change.`,
    files: { '.spool/modules/003_other/module.md': '# Other\n' },
  },
  {
    name: 'missing proposal',
    args: ['ralph', '--change', '002-02'],
    says: 'Change 002-02_second has no proposal: write .spool/changes/002-02_second/proposal.md first.',
    files: { '.spool/changes/002-02_second/tasks.md': '- [ ] x\n' },
  },
  {
    name: 'missing prompt file',
    args: ['ralph', '--change', change, '--prompt-file', 'none.md'],
    says: 'Cannot read the prompt file none.md: no such file.',
  },
  {
    name: 'a folder as prompt file',
    args: ['ralph', '--change', change, '--prompt-file', '.spool'],
    says: 'Cannot read the prompt file .spool: it is a folder.',
  },
  {
    name: 'empty prompt file',
    args: ['ralph', '--change', change, '--prompt-file', 'empty.md'],
    says: 'The prompt file empty.md is empty.',
    files: { 'empty.md': '\n' },
  },
  {
    name: 'prompt and prompt file',
    args: [...run, '--prompt-file', 'README.md'],
    says: 'A prompt and --prompt-file cannot be used together: remove one of them.',
  },
  {
    name: 'two actions',
    args: ['ralph', '--status', '--clear-context', '--change', change],
    says: '--status and --clear-context cannot be used together.',
  },
  { name: 'status with a prompt', args: [...run, '--status'], says: '--status and a prompt cannot be used together.' },
  {
    name: 'no project',
    args: run,
    says: 'No .spool folder in {folder}/.. or its parents. Run "spool init" in your project first, or start with a prompt: spool ralph "…"',
    cwd: '..',
  },
  {
    name: 'broken config',
    args: run,
    says: '.spool/config.json: not valid JSON (',
    files: { '.spool/config.json': '{ "model": ' },
  },
  {
    name: 'unknown key in config',
    args: run,
    says: '.spool/config.json: unknown key "modle" (did you mean "model"?)',
    files: { '.spool/config.json': '{ "modle": "x" }' },
  },
  {
    name: 'invalid value in config',
    args: run,
    says: '.spool/config.json: "maxIterations" must be a positive whole number or "unlimited", not true',
    files: { '.spool/config.json': '{ "maxIterations": true }' },
  },
  {
    name: 'allow-all in config',
    args: run,
    says: '.spool/config.json: "allowAll" cannot be set in this file; pass --allow-all to each run',
    files: { '.spool/config.json': '{ "allowAll": true }' },
  },
  {
    name: 'an unknown key in config',
    args: run,
    says: '.spool/config.json: unknown key "zzz". Keys: parallel, harness, model, agentMode, escalate, handover, sandbox, completionPromise, minIterations, maxIterations, maxDuration, maxCost, maxTokens, iterationTimeout, idleTimeout, maxFailures, maxStalled, maxWait, verify, verifyEach, verifyTimeout, requireTasks, requireScenarios, redFirst, report, review, maxReviews, reviewPrompt, blockedPromise, notify, notifyOn, failFast, retryDelay, commit, worktreeSetup, commitMessage, stream, verbose, stopGrace, changes, env, harnesses, permissions',
    files: { '.spool/config.json': '{ "zzz": true }' },
  },
  {
    name: 'a custom harness without a command',
    args: run,
    says: '.spool/config.json: "harnesses.mine" needs a "command"',
    files: { '.spool/config.json': '{ "harnesses": { "mine": { "args": [] } } }' },
  },
  {
    name: 'a custom harness without a way to pass the prompt',
    args: run,
    says: '.spool/config.json: "harnesses.mine" needs "{prompt}" in "args"',
    files: { '.spool/config.json': '{ "harnesses": { "mine": { "command": "x", "prompt": "argument" } } }' },
  },
  {
    name: 'a custom harness with an unknown decoder',
    args: run,
    says: '.spool/config.json: "harnesses.mine" must have "plain" or the name of a harness as "decoder": opencode, ',
    files: { '.spool/config.json': '{ "harnesses": { "mine": { "command": "x", "decoder": "xml" } } }' },
  },
  {
    name: 'a custom harness with a trailer that is not a list',
    args: run,
    says: '.spool/config.json: "harnesses.mine" must have a list of texts as "trailer"',
    files: { '.spool/config.json': '{ "harnesses": { "mine": { "command": "x", "trailer": "bye" } } }' },
  },
  {
    name: 'a custom harness with a blank trailer',
    args: run,
    says: '.spool/config.json: "harnesses.mine" has an empty text in "trailer", which would match every line',
    files: { '.spool/config.json': '{ "harnesses": { "mine": { "command": "x", "trailer": [" "] } } }' },
  },
  {
    name: 'a custom harness with the name of a built-in one',
    args: run,
    says: '.spool/config.json: "harnesses.claude" is built in; choose another name',
    files: { '.spool/config.json': '{ "harnesses": { "claude": { "command": "x" } } }' },
  },
  {
    name: 'a flag as model in config',
    args: run,
    says: '.spool/config.json: "model" must be a name that does not start with "-", not "--auto"',
    files: { '.spool/config.json': '{ "model": "--auto" }' },
  },
  {
    name: 'unknown flag before the command',
    args: ['--foo'],
    says: `Unknown option '--foo'. See "spool --help".`,
  },
  {
    name: 'invalid environment variable',
    args: run,
    says: 'SPOOL_MAX_ITERATIONS must be a positive whole number or "unlimited" (got "x").',
    env: () => ({ SPOOL_MAX_ITERATIONS: 'x' }),
  },
  {
    name: 'missing agent',
    args: run,
    code: 1,
    says: 'opencode is not on PATH. Install it with: npm install -g opencode-ai (no other agent is on PATH)',
    env: withAgents(),
  },
  {
    name: 'missing agent, with others installed',
    args: run,
    code: 1,
    says: 'opencode is not on PATH. Install it with: npm install -g opencode-ai (or use --agent with one of: claude, codex)',
    env: withAgents('claude', 'codex'),
  },
  {
    name: 'a new change without a prompt',
    args: ['ralph', '--new'],
    says: '--new needs a prompt: spool ralph --new "…"',
  },
  {
    name: 'a new change and a change',
    args: ['ralph', 'Build it.', '--new', '--change', '002-01'],
    says: '--new and --change cannot be used together.',
  },
  {
    name: 'an ID that no change has',
    args: ['ralph', '7-1', 'Build it.'],
    says: `No change "7-1" in .spool/changes. Active changes: ${change}.`,
  },
  {
    name: 'nothing to resume',
    args: ['ralph', '--resume'],
    says: 'Nothing to resume: no run was interrupted. Start a run with: spool ralph <change> (with --resume to use the settings of its last run)',
  },
  {
    name: 'nothing to resume in a change',
    args: [...run, '--resume'],
    says: `Nothing to resume: ${change} has no run to resume. Start a run with: spool ralph --change ${change}`,
  },
  {
    name: 'a resumed run that starts over',
    args: [...run, '--resume', '--fresh'],
    says: '--resume and --fresh cannot be used together.',
  },
  {
    name: 'a title instead of a slug',
    args: ['create', 'module', 'Größe & Art'],
    says: '"Größe & Art" is not a valid slug (lowercase words joined by "-"): try "gro-e-art".',
  },
  {
    name: 'show with an unknown id',
    args: ['show', 'xyz'],
    says: 'No change or module matches "xyz". List them with "spool list".',
  },
  {
    name: 'archive with open tasks',
    args: ['archive', change],
    says: `${change} has 1 open task (of 2). Finish it, or archive the change anyway with --force.`,
    files: { [`.spool/changes/${change}/tasks.md`]: '- [x] a\n- [ ] b\n' },
  },
];

describe('an error is one line with its exit code, and nothing is written', () => {
  test.each(rows)('$name', async ({ args, says, code = 2, files = {}, cwd, env }) => {
    const project = createProject({ agent: [promise], files });
    const before = everythingIn(dirname(project.folder));
    const extra = env?.(project) ?? {};
    const listed = everythingIn(dirname(project.folder)).filter((name) => !before.includes(name));

    const result = await project.start(args, { env: extra, ...(cwd === undefined ? {} : { cwd }) }).result;

    expect(result.stderr).toContain(`spool: ${says.replace('{folder}/..', dirname(project.folder))}`);
    expect(result.stderr.split('\n')).toHaveLength(2);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(everythingIn(dirname(project.folder))).toEqual([...before, ...listed].toSorted());
    expect(project.calls()).toEqual([]);
  });

  test('a second loop on the same change', async () => {
    const project = createProject({ agent: [`${waitsFor('go-on')}; ${promise}`] });
    const first = project.start([...run]);
    await first.printed('waiting for go-on');
    const before = everythingIn(project.folder);

    const second = await project.spool(...run);
    const archive = await project.spool('archive', change);
    expect(everythingIn(project.folder)).toEqual(before);
    project.write('go-on', '');

    for (const result of [second, archive]) {
      expect(result).toMatchObject({ code: 2, stdout: '' });
      expect(result.stderr).toMatch(
        new RegExp(String.raw`^spool: ${change} is already running \(PID ${first.pid}, since [-\d: ]+\)\. .*\n$`),
      );
    }
    expect(await first.result).toMatchObject({ code: 0 });
    expect(project.calls()).toHaveLength(1);
  });

  test('an unreadable file is named, without a stack trace', async () => {
    const project = createProject({ agent: [promise], files: { [`.spool/changes/${change}/proposal.md`]: null } });
    mkdirSync(project.path(`.spool/changes/${change}/proposal.md`), { recursive: true });

    const result = await project.spool(...run);

    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/^spool: .*proposal\.md is not a regular file, so Spool does not use it\. .*\n$/);
  });
});

test('a state folder that cannot be created is reported in one line, without a stack trace', async () => {
  const project = createProject({ agent: [promise] });
  project.write('.spool/.state', 'a file where the folder should be');

  const result = await project.spool(...run);

  expect(result.code).toBe(1);
  expect(result.stderr).toMatch(/^spool: Cannot access .*\.state.*: .*\.\n$/);
});

/** A PATH with git and these agents only. */
function withAgents(...names: string[]) {
  return (project: TestProject) => {
    const bin = join(project.home, 'bin');
    mkdirSync(bin);
    for (const tool of ['git', 'sh', 'env']) symlinkSync(`/usr/bin/${tool}`, join(bin, tool));
    for (const name of names) {
      symlinkSync('/bin/true', join(bin, name));
      chmodSync(join(bin, name), 0o755);
    }
    return { PATH: bin };
  };
}

const everythingIn = (folder: string) => (readdirSync(folder, { recursive: true }) as string[]).toSorted();
