import type { CommandRow } from './command.ts';
import { queue, ralphOptions } from './options.ts';

export const runCommands: readonly CommandRow[] = [
  {
    name: 'ralph',
    alias: 'loop',
    summary: 'Run a coding agent in a loop until a change is done',
    positionals: [
      { name: 'change', help: 'Change ID or unique prefix, such as 002-01', optional: true, suggest: 'changes' },
      { name: 'prompt', help: 'What to do (default: the proposal of the change)', optional: true },
    ],
    options: [...ralphOptions, { ...queue, heading: 'Other actions' as const }],
    examples: [
      'spool ralph "Add a /health endpoint with tests"',
      'spool ralph --file docs/plans/login.md --require-tasks',
      'spool ralph 002-01',
      'spool ralph --change 002-01_add-ralph-loop',
      'spool ralph "Start with the parser" --change 002-01 --max-iterations 20',
      'spool ralph --change 002-01 --verify "npm test" --require-tasks --allow-all --sandbox',
      'spool ralph --change 002-01 --until 07:00 --max-cost 20',
      'spool ralph --module 002 --parallel 3 --max-cost 50',
      'spool ralph --change 002-01 --model anthropic/claude-sonnet',
      'spool ralph --change 002-01 --add-context "The API key is in 1Password"',
      'spool ralph --change 002-01 --status',
      'spool ralph --resume',
    ],
    load: () => import('../ralph/ralph.ts'),
  },
];
