import { type Flag, flagNames, flags, isNegated, isRepeatable } from '../config/flags.ts';
import type { Command, CommandOption, Positional } from './command.ts';

const ralphOptions: readonly CommandOption[] = flagNames.map((name) => {
  const { help, placeholder, aliases, ...flag }: Flag = flags[name];
  return {
    name,
    help,
    ...(placeholder === undefined ? {} : { placeholder }),
    ...(aliases === undefined ? {} : { aliases }),
    ...(typeof flag.default === 'string' ? { default: flag.default } : {}),
    negated: isNegated(flags[name]),
    repeatable: isRepeatable(flags[name]),
  };
});

const sandboxFlags = ['sandbox', 'sandboxAllow', 'sandboxWrite'];

const json: CommandOption = { name: 'json', help: 'Output JSON' };
const yes: CommandOption = { name: 'yes', help: 'Skip the confirmation' };
const run: CommandOption = { name: 'run', placeholder: 'id', help: 'Run to use (default: latest)' };
const onlyChange: CommandOption = { name: 'change', placeholder: 'id', help: 'Only for this change' };

const change: Positional = { name: 'change', help: 'Change ID or unique prefix' };
const key: Positional = { name: 'key', help: 'Such as maxCost, verify, worktree.setup, env.pass or harnesses.<name>' };

/** Summaries of the commands that have subcommands. */
export const groups: Readonly<Record<string, string>> = {
  create: 'Create a module or a change',
  config: 'Read and change the settings of the project',
};

export const commands: readonly Command[] = [
  {
    name: 'ralph',
    alias: 'loop',
    summary: 'Run a coding agent in a loop until a change is done',
    positionals: [{ name: 'prompt', help: 'What to do (default: the proposal of the change)', optional: true }],
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
    summary: 'Set up Spool in this folder',
    positionals: [],
    options: [],
    examples: ['spool init'],
    load: () => import('./init.ts'),
  },
  {
    name: 'create module',
    summary: 'Create a module, a group of related changes',
    positionals: [{ name: 'slug', help: 'Name, such as user-accounts' }],
    options: [],
    examples: ['spool create module user-accounts'],
    load: () => import('./create-module.ts'),
  },
  {
    name: 'create change',
    summary: 'Create a change with a proposal to fill in',
    positionals: [{ name: 'slug', help: 'Name, such as add-password-reset' }],
    options: [{ name: 'module', placeholder: 'id', help: 'Module of the change: its ID or a unique prefix' }],
    examples: ['spool create change add-password-reset --module 002'],
    load: () => import('./create-change.ts'),
  },
  {
    name: 'config set',
    summary: 'Change a setting in .spool/config.json and trust what it runs',
    positionals: [key, { name: 'value', help: 'Same form as for the flag; a list of commands as JSON' }],
    options: [onlyChange],
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
    summary: 'Remove a setting from .spool/config.json',
    positionals: [key],
    options: [onlyChange],
    examples: ['spool config unset verify', 'spool config unset maxCost --change 002-01'],
    load: () => import('./config/unset.ts'),
  },
  {
    name: 'config get',
    summary: 'Print settings from .spool/config.json',
    positionals: [{ ...key, optional: true }],
    options: [onlyChange, json],
    examples: ['spool config get', 'spool config get verify', 'spool config get maxCost --change 002-01 --json'],
    load: () => import('./config/get.ts'),
  },
  {
    name: 'list',
    summary: 'List active changes with their tasks and last run',
    positionals: [],
    options: [json],
    examples: ['spool list', 'spool list --json'],
    load: () => import('./list.ts'),
  },
  {
    name: 'show',
    summary: 'Show a change or a module',
    positionals: [{ name: 'id', help: 'ID of a change or module, or a unique prefix' }],
    options: [],
    examples: ['spool show 002-01', 'spool show 002'],
    load: () => import('./show.ts'),
  },
  {
    name: 'harnesses',
    summary: 'List supported agents and show which are installed',
    positionals: [],
    options: [json],
    examples: ['spool harnesses', 'spool harnesses --json'],
    load: () => import('./harnesses.ts'),
  },
  {
    name: 'doctor',
    summary: 'Check your setup',
    positionals: [],
    options: [
      { name: 'probe', help: 'Also run each agent twice on a tiny task' },
      ...ralphOptions.filter(({ name }) => ['harness', 'model', 'allowAll', ...sandboxFlags].includes(name)),
      json,
    ],
    examples: ['spool doctor', 'spool doctor --harness claude --probe --allow-all', 'spool doctor --json'],
    load: () => import('./doctor/doctor.ts'),
  },
  {
    name: 'trust',
    summary: 'Show what this project runs on your machine, and trust it',
    positionals: [],
    options: [
      { name: 'show', help: 'Only list what is trusted, since when, and what is not' },
      yes,
      { ...json, help: 'Output the same as --show as JSON' },
    ],
    examples: ['spool trust', 'spool trust --show', 'spool trust --yes'],
    load: () => import('./trust.ts'),
  },
  {
    name: 'untrust',
    summary: 'Revoke trust in this project',
    positionals: [],
    options: [],
    examples: ['spool untrust'],
    load: () => import('./untrust.ts'),
  },
  {
    name: 'accept',
    summary: 'Accept edits to the goal of a change made during a run',
    positionals: [change],
    options: [],
    examples: ['spool accept 002-01'],
    load: () => import('./accept.ts'),
  },
  {
    name: 'diff',
    summary: 'Show what an iteration changed',
    positionals: [
      change,
      { name: 'n', help: 'Iteration, or a range such as 3..7 (default: latest iteration)', optional: true },
    ],
    options: [run, { name: 'stat', help: 'Show only file names and line counts' }],
    examples: ['spool diff 002-01', 'spool diff 002-01 7', 'spool diff 002-01 0..7 --stat'],
    load: () => import('./diff.ts'),
  },
  {
    name: 'rewind',
    summary: 'Restore files to the state after an iteration',
    positionals: [
      change,
      { name: 'n', help: 'Iteration; 0 is the state before the first one, r1 the state before the first rewind' },
    ],
    options: [run, { name: 'dryRun', help: 'Only show what would change' }],
    examples: ['spool rewind 002-01 6 --dry-run', 'spool rewind 002-01 6', 'spool rewind 002-01 r1'],
    load: () => import('./rewind.ts'),
  },
  {
    name: 'land',
    summary: "Rebase, verify and merge a change's branch",
    positionals: [change],
    options: [
      { name: 'onto', placeholder: 'branch', help: 'Branch to land on (default: the branch the change started from)' },
      { name: 'force', help: 'Land even if the last run is not complete' },
      { name: 'keepBranch', help: 'Do not delete the branch after landing' },
      ...ralphOptions
        .filter(({ name }) => ['verify', 'verifyTimeout', ...sandboxFlags].includes(name))
        .map((option) =>
          option.name === 'verify' ? { ...option, help: 'Run this command before landing (repeatable)' } : option,
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
    summary: 'Delete checkpoints, prompts and logs of old runs',
    positionals: [],
    options: [{ name: 'keep', placeholder: 'n', help: 'Number of runs to keep per change', default: '3' }, yes],
    examples: ['spool prune', 'spool prune --keep 1 --yes'],
    load: () => import('./prune.ts'),
  },
  {
    name: 'archive',
    summary: 'Archive a finished change',
    positionals: [change],
    options: [{ name: 'force', help: 'Archive even if tasks are open' }],
    examples: ['spool archive 002-01_add-ralph-loop', 'spool archive 002-01 --force'],
    load: () => import('./archive.ts'),
  },
];
