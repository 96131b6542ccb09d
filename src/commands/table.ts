import { type Flag, flagNames, flagOf, flags } from '../config/flags.ts';
import type { Command, CommandOption } from './command.ts';

const ralphOptions: readonly CommandOption[] = flagNames.map((name) => {
  const flag: Flag = flags[name];
  return {
    ...flag,
    name,
    repeats: flag.kind === 'commands' || flag.kind === 'names',
    flags: flag.value ? `${flagOf(name)} ${flag.value}` : flagOf(name),
  };
});

const sandboxFlags = ['sandbox', 'sandboxAllow', 'sandboxWrite'];

const json: CommandOption = { name: 'json', flags: '--json', help: 'print JSON for programs' };
const runOption: CommandOption = { name: 'run', flags: '--run <id>', help: 'of this run; the last one without it' };
const moduleOption: CommandOption = {
  name: 'module',
  flags: '--module <id>',
  help: 'the module the change belongs to',
};

const sectionOption: CommandOption = { name: 'change', flags: '--change <id>', help: 'for this change only' };
const keyArgument = { name: 'key', help: 'such as maxCost, verify, worktree.setup, env.pass or harnesses.<name>' };

/** The first words of commands with two. */
export const groups: Readonly<Record<string, string>> = {
  create: 'make a module or a change',
  config: 'read and change the settings of the project',
};

export const commands: readonly Command[] = [
  {
    name: 'ralph',
    alias: 'loop',
    summary: 'run an agent on a change, again and again, until it is done',
    argument: { name: 'prompt', help: 'what to do; without it the proposal is the task', optional: true },
    options: ralphOptions,
    examples: [
      'spool ralph --change 002-01_add-ralph-loop',
      'spool ralph "Start with the parser" --change 002-01 --max-iterations 20',
      'spool ralph --change 002-01 --verify "npm test" --require-tasks --allow-all --sandbox',
      'spool ralph --change 002-01 --until 07:00 --max-cost 20',
      'spool ralph --module 002 --parallel 3 --max-cost 50',
      'spool ralph --change 002-01 --model anthropic/claude-sonnet',
      'spool ralph --change 002-01 --add-context "The API key is in 1Password"',
      'spool ralph --change 002-01 --status',
    ],
    load: () => import('./ralph/ralph.ts'),
  },
  {
    name: 'init',
    summary: 'make this folder a Spool project',
    options: [],
    examples: ['spool init'],
    load: () => import('./init.ts'),
  },
  {
    name: 'create module',
    summary: 'make a module: a group of changes with a purpose in common',
    argument: { name: 'slug', help: 'its name, such as user-accounts' },
    options: [],
    examples: ['spool create module user-accounts'],
    load: () => import('./create-module.ts'),
  },
  {
    name: 'create change',
    summary: 'make a change with a proposal to fill in',
    argument: { name: 'slug', help: 'its name, such as add-password-reset' },
    options: [moduleOption],
    examples: ['spool create change add-password-reset --module 002'],
    load: () => import('./create-change.ts'),
  },
  {
    name: 'config set',
    summary: 'write a setting into .spool/config.json; what it runs is trusted by that',
    argument: keyArgument,
    second: { name: 'value', help: 'as for the flag; a list of commands as JSON' },
    options: [sectionOption],
    examples: [
      'spool config set verify "npm test"',
      `spool config set verify '["npm test", "npm run lint"]'`,
      'spool config set maxCost 20 --change 002-01',
      'spool config set env.pass ANTHROPIC_API_KEY,CI',
      `spool config set harnesses.mine '{"command": "my-agent"}'`,
    ],
    load: () => import('./config/set.ts'),
  },
  {
    name: 'config unset',
    summary: 'take a setting out of .spool/config.json',
    argument: keyArgument,
    options: [sectionOption],
    examples: ['spool config unset verify', 'spool config unset maxCost --change 002-01'],
    load: () => import('./config/unset.ts'),
  },
  {
    name: 'config get',
    summary: 'print what .spool/config.json says',
    argument: { ...keyArgument, optional: true },
    options: [sectionOption, json],
    examples: ['spool config get', 'spool config get verify', 'spool config get maxCost --change 002-01 --json'],
    load: () => import('./config/get.ts'),
  },
  {
    name: 'list',
    summary: 'list the active changes with their tasks and last run',
    options: [json],
    examples: ['spool list', 'spool list --json'],
    load: () => import('./list.ts'),
  },
  {
    name: 'show',
    summary: 'show a change or a module',
    argument: { name: 'id', help: 'its id, or a prefix that only it has' },
    options: [],
    examples: ['spool show 002-01', 'spool show 002'],
    load: () => import('./show.ts'),
  },
  {
    name: 'harnesses',
    summary: 'list the agents that Spool can run, and which of them are installed',
    options: [json],
    examples: ['spool harnesses', 'spool harnesses --json'],
    load: () => import('./harnesses.ts'),
  },
  {
    name: 'doctor',
    summary: 'check that everything a loop needs is there and works',
    options: [
      { name: 'probe', flags: '--probe', help: 'also run each agent twice for real, on a tiny task' },
      ...ralphOptions.filter(({ name }) => ['harness', 'model', 'allowAll', ...sandboxFlags].includes(name)),
      json,
    ],
    examples: ['spool doctor', 'spool doctor --harness claude --probe --allow-all', 'spool doctor --json'],
    load: () => import('./doctor/doctor.ts'),
  },
  {
    name: 'trust',
    summary: 'show what this project runs on your machine, and trust it',
    options: [
      { name: 'show', flags: '--show', help: 'only show what is trusted and since when, and what is not' },
      { name: 'yes', flags: '--yes', help: 'do not ask' },
      { ...json, help: 'like --show, as JSON for programs' },
    ],
    examples: ['spool trust', 'spool trust --show', 'spool trust --yes'],
    load: () => import('./trust.ts'),
  },
  {
    name: 'untrust',
    summary: 'forget what you have trusted in this project',
    options: [],
    examples: ['spool untrust'],
    load: () => import('./untrust.ts'),
  },
  {
    name: 'accept',
    summary: 'accept edits made to the goal of a change during a run',
    argument: { name: 'change', help: 'its id, or a prefix that only it has' },
    options: [],
    examples: ['spool accept 002-01'],
    load: () => import('./accept.ts'),
  },
  {
    name: 'diff',
    summary: 'show what an iteration changed',
    argument: { name: 'change', help: 'its id, or a prefix that only it has' },
    second: { name: 'n', help: 'an iteration, or "a..b" for several; the last one without it', optional: true },
    options: [runOption, { name: 'stat', flags: '--stat', help: 'only the files, and how many lines' }],
    examples: ['spool diff 002-01', 'spool diff 002-01 7', 'spool diff 002-01 0..7 --stat'],
    load: () => import('./diff.ts'),
  },
  {
    name: 'rewind',
    summary: 'put the work tree back to where it was after an iteration',
    argument: { name: 'change', help: 'its id, or a prefix that only it has' },
    second: { name: 'n', help: 'after iteration n; 0 is before the first, r1 before the first rewind' },
    options: [runOption, { name: 'dryRun', flags: '--dry-run', help: 'only show what would change' }],
    examples: ['spool rewind 002-01 6 --dry-run', 'spool rewind 002-01 6', 'spool rewind 002-01 r1'],
    load: () => import('./rewind.ts'),
  },
  {
    name: 'land',
    summary: 'bring the branch of a change to where it began: rebased, verified, moved ahead',
    argument: { name: 'change', help: 'its id, or a prefix that only it has' },
    options: [
      { name: 'onto', flags: '--onto <branch>', help: 'land on this branch; the one it began from without it' },
      { name: 'force', flags: '--force', help: 'land even if the last run is not complete' },
      { name: 'keepBranch', flags: '--keep-branch', help: 'do not delete the branch that has landed' },
      ...ralphOptions
        .filter(({ name }) => ['verify', 'verifyTimeout', ...sandboxFlags].includes(name))
        .map((option) =>
          option.name === 'verify' ? { ...option, help: 'run this before landing; repeatable' } : option,
        ),
    ],
    examples: [
      'spool land 002-01',
      'spool land 002-01 --onto main --verify "npm test"',
      'spool land 002-01 --force --keep-branch',
    ],
    load: () => import('./land.ts'),
  },
  {
    name: 'prune',
    summary: 'drop the checkpoints, prompts and logs of old runs; the history stays',
    options: [
      { name: 'keep', flags: '--keep <n>', help: 'how many runs of each change stay', fallback: '3' },
      { name: 'yes', flags: '--yes', help: 'do not ask' },
    ],
    examples: ['spool prune', 'spool prune --keep 1 --yes'],
    load: () => import('./prune.ts'),
  },
  {
    name: 'archive',
    summary: 'put a finished change away',
    argument: { name: 'change', help: 'its id, or a prefix that only it has' },
    options: [{ name: 'force', flags: '--force', help: 'also with open tasks' }],
    examples: ['spool archive 002-01_add-ralph-loop', 'spool archive 002-01 --force'],
    load: () => import('./archive.ts'),
  },
];
