import type { CommandRow } from '../shared/command.ts';
import { change, json, queue, run } from './options.ts';

export const lookCommands: readonly CommandRow[] = [
  {
    name: 'list',
    summary: 'List active changes with their tasks and last run',
    positionals: [],
    options: [{ name: 'archived', help: 'List archived changes instead' }, queue, json],
    examples: ['spool list', 'spool list --archived', 'spool list --json'],
    load: () => import('../list.ts'),
  },
  {
    name: 'status',
    summary: 'Show all runs, or what a run has done',
    positionals: [{ ...change, optional: true }],
    options: [{ name: 'all', help: 'Show all iterations; without a change, include archived changes' }, queue, json],
    examples: ['spool status', 'spool status 002-01', 'spool status 002-01 --all', 'spool status --json'],
    load: () => import('../status.ts'),
  },
  {
    name: 'logs',
    summary: 'Show what an agent did in an iteration, or follow a run',
    positionals: [change, { name: 'n', help: 'Iteration (default: current or last)', optional: true }],
    options: [
      { name: 'follow', help: 'Follow the run until it ends, and exit with its exit code', short: 'f' },
      { name: 'raw', help: 'Show the unprocessed output of the agent' },
      { name: 'prompt', help: 'Show what the agent was given' },
      { ...json, help: 'Output events as newline-delimited JSON' },
      { name: 'verbose', help: 'Also show reasoning and ignored mentions of the promise' },
      run,
      queue,
    ],
    examples: ['spool logs 002-01', 'spool logs 002-01 7', 'spool logs 002-01 -f', 'spool logs 002-01 7 --prompt'],
    load: () => import('../logs/logs.ts'),
  },
  {
    name: 'watch',
    summary: 'Watch all runs, and stop, pause or steer them',
    positionals: [],
    options: [],
    examples: ['spool watch'],
    load: () => import('../watch/watch.ts'),
  },
  {
    name: 'show',
    summary: 'Show a change or a module',
    positionals: [{ name: 'id', help: 'ID of a change or module, or a unique prefix', suggest: 'changes and modules' }],
    options: [json],
    examples: ['spool show 002-01', 'spool show 002', 'spool show 002-01 --json'],
    load: () => import('../show.ts'),
  },
  {
    name: 'validate',
    summary: 'Check the specs of a change, or of all changes',
    positionals: [{ ...change, optional: true }],
    options: [
      { name: 'all', help: 'Check all active changes and the main specs' },
      { name: 'strict', help: 'Fail on warnings too' },
      json,
    ],
    examples: ['spool validate 002-01', 'spool validate --all --strict', 'spool validate 002-01 --json'],
    load: () => import('../validate.ts'),
  },
  {
    name: 'diff',
    summary: 'Show what a run or an iteration changed',
    positionals: [
      change,
      {
        name: 'n',
        help: 'Iteration, or a range such as 3..7 or 3.. (default: the whole run; while it is running, its latest iteration)',
        optional: true,
      },
    ],
    options: [
      { name: 'all', help: 'Show what the whole run has changed so far, as the range 0.. does' },
      run,
      { name: 'stat', help: 'Show only file names and line counts' },
      { ...json, help: 'Output file names and line counts as JSON' },
    ],
    examples: ['spool diff 002-01', 'spool diff 002-01 7', 'spool diff 002-01 3.. --stat', 'spool diff 002-01 --all'],
    load: () => import('../diff.ts'),
  },
];
