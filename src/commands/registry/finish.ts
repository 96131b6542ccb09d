import type { CommandRow } from './command.ts';
import { change, json, queue, ralphOption, run, sandboxFlags, yes } from './options.ts';

/** What flags of `spool ralph` do when a change lands. */
const landHelp: Readonly<Record<string, string>> = {
  verify: 'Run this command before landing (repeatable)',
  requireScenarios: 'Land only if every scenario is proven',
};

export const finishCommands: readonly CommandRow[] = [
  {
    name: 'rewind',
    summary: 'Restore files to the state after an iteration',
    positionals: [
      change,
      { name: 'n', help: 'Iteration; 0 is the state before the first one, r1 the state before the first rewind' },
    ],
    options: [run, { name: 'dryRun', help: 'Only show what would change' }],
    examples: ['spool rewind 002-01 6 --dry-run', 'spool rewind 002-01 6', 'spool rewind 002-01 r1'],
    load: () => import('../rewind.ts'),
  },
  {
    name: 'land',
    summary: "Rebase, verify and merge a change's branch",
    positionals: [change],
    options: [
      { name: 'onto', placeholder: 'branch', help: 'Branch to land on (default: the branch the change started from)' },
      { name: 'force', help: 'Land even if the last run is not complete' },
      { name: 'keepBranch', help: 'Do not delete the branch after landing' },
      { name: 'dryRun', help: 'Only rebase and verify in a separate worktree, and show what would land' },
      ...[...sandboxFlags, ...(['verify', 'verifyTimeout', 'requireScenarios'] as const)]
        .map(ralphOption)
        .map((option) => ({ ...option, help: landHelp[option.name] ?? option.help })),
      queue,
    ],
    examples: [
      'spool land 002-01 --dry-run',
      'spool land 002-01',
      'spool land 002-01 --onto main --verify "npm test"',
      'spool land 002-01 --force --keep-branch',
    ],
    load: () => import('../land.ts'),
  },
  {
    name: 'publish',
    summary: "Push a change's branch and open or update its pull request",
    positionals: [change],
    options: [
      { name: 'print', help: 'Only print the text of the pull request, without gh or a remote' },
      {
        name: 'base',
        placeholder: 'branch',
        help: 'Branch to merge into (default: the branch the change started from)',
      },
      { name: 'remote', placeholder: 'name', help: 'Git remote to push to', default: 'origin' },
      { name: 'ready', help: 'Open it ready for review instead of as a draft' },
      { name: 'force', help: 'Publish even if the last run is not complete' },
      queue,
    ],
    examples: ['spool publish 002-01', 'spool publish 002-01 --print', 'spool publish 002-01 --base main --ready'],
    load: () => import('../publish.ts'),
  },
  {
    name: 'prune',
    summary: 'Delete checkpoints, prompts and logs of old runs',
    positionals: [],
    options: [{ name: 'keep', placeholder: 'n', help: 'Number of runs to keep per change', default: '3' }, yes],
    examples: ['spool prune', 'spool prune --keep 1 --yes'],
    load: () => import('../prune.ts'),
  },
  {
    name: 'archive',
    summary: 'Archive a finished change and merge its specs',
    positionals: [change],
    options: [
      { name: 'force', help: 'Archive even if tasks are open or scenarios are not proven' },
      { name: 'requireScenarios', help: 'Archive only if every scenario is proven' },
      { name: 'specs', negated: true, help: 'Only move the change, without merging its specs' },
      { name: 'dryRun', help: 'Only show what would change' },
      json,
    ],
    examples: ['spool archive 002-01 --dry-run', 'spool archive 002-01', 'spool archive 002-01 --force --no-specs'],
    load: () => import('../archive.ts'),
  },
];
