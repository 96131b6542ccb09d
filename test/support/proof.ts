import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ledger } from '../../src/ralph/proof.ts';
import { change, type TestProject } from './project.ts';

/** A change with one scenario. */
export const spec = `.spool/changes/${change}/specs/sum/spec.md`;
export const scenario = 'sum/adding/two-numbers';
export const requirement = `## ADDED Requirements

### Requirement: Adding

The program SHALL add numbers.

#### Scenario: Two numbers

- **WHEN** 1 and 2 are added
- **THEN** the result is 3
`;

/** A command that proves a scenario without the cost of a test runner. The test fails if the shell test fails. */
export const prints = (shellTest = 'true', id = scenario): string =>
  `echo 'TAP version 13'; if ${shellTest}; then echo 'ok 1 - adds @scenario ${id}'; else echo 'not ok 1 - adds @scenario ${id}'; fi; echo '1..1'; ${shellTest}`;

/** The folder of the change in the user's record. */
export const recordOf = (project: Pick<TestProject, 'home'>, id = change): string => {
  const projects = join(project.home, '.local/state/spool/projects');
  return join(projects, readdirSync(projects)[0]!, id);
};

export const ledgerOf = (project: Pick<TestProject, 'home'>): Ledger =>
  JSON.parse(readFileSync(join(recordOf(project), 'ledger.json'), 'utf8')) as Ledger;

export const hook = (project: TestProject, name: string, script: string): void => {
  project.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(project.path(`.git/hooks/${name}`), 0o755);
};

/** In a hook: kills the program that started git. */
export const killsSpool = `kill -9 $(sed -n 's/^PPid:\\t*//p' /proc/$PPID/status)`;
