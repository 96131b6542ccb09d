import type { CommandOption, CommandRow } from './command.ts';
import { change, json, queue, runOf, yes } from './options.ts';

const local: CommandOption = { name: 'local', help: 'Only on this machine, not in the queue' };
const allYes: CommandOption = { ...yes, help: 'With --all, do not ask about other machines' };

export const steerCommands: readonly CommandRow[] = [
  {
    name: 'stop',
    summary: 'Stop a run after its current iteration',
    positionals: [runOf],
    options: [
      { name: 'now', help: 'Stop the agent at once, as Ctrl-C does; a second time kills it' },
      { name: 'all', help: 'Stop all runs of this project, including queued ones, on all machines' },
      local,
      allYes,
      queue,
      json,
    ],
    examples: ['spool stop 002-01', 'spool stop 002-01 --now', 'spool stop --all', 'spool stop --all --local'],
    load: () => import('../stop.ts'),
  },
  {
    name: 'pause',
    summary: 'Pause a run before its next iteration',
    positionals: [runOf],
    options: [
      { name: 'all', help: 'Pause all runs of this project, including queued ones, on all machines' },
      local,
      allYes,
      queue,
      json,
    ],
    examples: ['spool pause 002-01', 'spool pause --all'],
    load: () => import('../pause.ts'),
  },
  {
    name: 'resume',
    summary: 'Resume a paused run',
    positionals: [runOf],
    options: [
      { name: 'all', help: 'Resume all paused runs of this project, on all machines' },
      local,
      allYes,
      queue,
      json,
    ],
    examples: ['spool resume 002-01', 'spool resume --all'],
    load: () => import('../resume.ts'),
  },
  {
    name: 'accept',
    summary: 'Accept edits to the goal of a change made during a run',
    positionals: [change],
    options: [],
    examples: ['spool accept 002-01'],
    load: () => import('../accept.ts'),
  },
];
