import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, type ProjectOptions, type TestProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

/** Settings of git that start a program, written by an agent or brought by a clone: none may run in a command of Spool. */

const run = ['ralph', '--change', change];

/** The program that the attacker wants to be run: it leaves a line in a file outside of the project. */
const armed = (options: ProjectOptions = {}) => {
  const project = createProject(options);
  const marker = join(project.home, 'ran');
  writeFileSync(
    join(project.home, 'evil'),
    `#!/bin/sh\necho "$@" >> '${marker}'\n[ "$1" = fetch ] || cat 2>/dev/null\n`,
  );
  chmodSync(join(project.home, 'evil'), 0o755);
  return {
    ...project,
    /** What Spool has run of it so far. */
    ran: () => (existsSync(marker) ? readFileSync(marker, 'utf8') : ''),
    forget: () => rmSync(marker, { force: true }),
  };
};

/** An agent that attacks at its first call. What it runs of it itself is its own affair. */
const once = (attack: string) =>
  `echo x >> made.txt; [ -e "$HOME/done" ] || { ${attack}; touch "$HOME/done"; rm -f "$HOME/ran"; }`;

/** A nested repository with an attack in it; the file in it looks modified, so that a filter would be asked. */
const nested = (attack: string, name = 'sub') =>
  `git init -q ${name}; cd ${name}; echo '*.t filter=evil' > .gitattributes; echo x > x.t
   git add .; git commit -qm inner; touch -d 2001-01-01 x.t; ${attack}; cd ..`;

const fsmonitor = 'git config core.fsmonitor "$HOME/evil fsmonitor"';
const cleanFilter = 'git config filter.evil.clean "$HOME/evil clean"';
const processFilter = 'git config filter.evil.process "$HOME/evil process"';
const hooks = `mkdir -p .git/hooks; for hook in post-index-change pre-commit post-checkout reference-transaction
  do cp "$HOME/evil" .git/hooks/$hook; done`;
/** A missing tree in a sparse index makes git ask the remote for it. */
const lazyFetch = `mkdir d; echo y > d/y; git add .; git commit -qm more; git sparse-checkout set --cone --sparse-index
  rm -f .git/objects/$(git rev-parse HEAD:d | sed 's|..|&/|'); git config core.repositoryFormatVersion 1
  git config extensions.partialClone evil; git config remote.evil.url /tmp; git config remote.evil.uploadpack "$HOME/evil fetch"`;
const all = `${fsmonitor}; ${cleanFilter}; ${hooks}`;

const asGitlink = 'git add sub 2> /dev/null; git commit -qm "a gitlink"';
const asSubmodule = `printf '[submodule "sub"]\\n\\tpath = sub\\n\\turl = ./sub\\n\\tignore = none\\n' > .gitmodules
  git add .gitmodules sub 2> /dev/null; git commit -qm "a submodule"`;
const ignoredGitlink = 'echo /sub/ > .gitignore; git add -f sub 2> /dev/null; git commit -qm "an ignored gitlink"';

/** What Spool does after the agent has planted something: the rest of the iteration, one more, and the other commands. */
const useAll = async (project: TestProject) => {
  await project.spool(...run, '--max-iterations', '2');
  await project.spool('diff', change, '1');
  await project.spool('diff', change, '0..1', '--stat');
  await project.spool('rewind', change, '0', '--dry-run');
  await project.spool('list');
  await project.spool('show', change);
  await project.spool(...run, '--status');
  await project.spool('doctor');
  await project.spool('prune', '--yes');
};

describe('a nested repository of the agent', () => {
  test.each([
    ['fsmonitor', fsmonitor],
    ['a clean filter', cleanFilter],
    ['a filter process', processFilter],
    ['hooks', hooks],
    ['a remote for missing objects', lazyFetch],
    ['all of it in a repository inside it', nested(all, 'deeper')],
  ])('with %s', async (_, attack) => {
    for (const commit of ['true', asGitlink, asSubmodule, ignoredGitlink]) {
      const project = armed({ agent: [once(`${nested(attack)}; ${commit}`)] });

      await useAll(project);

      expect([commit, project.ran()]).toEqual([commit, '']);
      expect(project.history().map(({ git }) => git?.files)).toEqual([
        expect.arrayContaining(['made.txt']),
        ['made.txt'],
      ]);
    }
  });
});
