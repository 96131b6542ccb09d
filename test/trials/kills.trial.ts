import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { IterationRecord } from '../../src/ralph/record.ts';
import { promise } from '../support/agents.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { createRandom, report } from '../support/trials.ts';

const killsEach = 40;
/** Long enough for kills in the third iteration and before the first. */
const maxMs = 1400;

/** Logs what it does, with the tag of the iteration. */
const agentWith = (also: string) => `echo "start $SPOOL_ITERATION" >> "$HOME/log"
${also}
echo "$SPOOL_ITERATION" >> "$PWD/work.txt"
sleep 0.0$(( $$ % 9 ))
if [ -e "$HOME/finish" ]; then ${promise}; fi
echo "end $SPOOL_ITERATION" >> "$HOME/log"`;

/** Files staged when an agent starts. There must be none: the next commit would revert one of Spool. */
const notesStaged = 'git diff --cached --name-status >> "$HOME/staged"';

interface Surroundings {
  readonly agent: string;
  readonly files?: Record<string, string>;
  readonly args?: readonly string[];
  readonly prepare?: (project: TestProject) => void;
  /** Another process that runs at the same time. Resolves when it is done. */
  readonly meanwhile?: (project: TestProject, random: () => number) => Promise<void>;
  readonly check: (project: TestProject) => void;
}

const nothingStaged = (project: TestProject) => expect(readFileSync(join(project.home, 'staged'), 'utf8')).toBe('');

const isCommitted = (project: TestProject) => {
  expect(project.git('show', 'HEAD:work.txt')).toBe(project.read('work.txt').trimEnd());
  expect(project.git('diff', '--cached', '--name-status')).toBe('');
};

const surroundings: Record<string, Surroundings> = {
  'in a quiet repository': {
    agent: agentWith(notesStaged),
    check: (project) => {
      nothingStaged(project);
      expect(project.git('status', '--porcelain')).toBe('');
    },
  },
  'while another process holds the index lock': {
    agent: agentWith(''),
    meanwhile: async (project, random) => {
      await delay(random() * maxMs);
      const lock = project.path('.git/index.lock');
      if (existsSync(lock)) return;
      writeFileSync(lock, '', { flag: 'wx' });
      await delay(random() * maxMs);
      rmSync(lock, { force: true });
    },
    check: (project) => {
      isCommitted(project);
      expect(project.git('status', '--porcelain')).toBe('');
    },
  },
  'while .gitignore is rewritten': {
    agent: agentWith(`${notesStaged}
if grep -q private .gitignore; then echo dist/ > .gitignore; else printf 'private.txt\\ndata/\\n' > .gitignore; fi`),
    files: { '.gitignore': 'private.txt\ndata/\n' },
    prepare: (project) => {
      project.write('private.txt', 'a diary\n');
      project.write('data/users.csv', 'users\n');
    },
    check: (project) => {
      nothingStaged(project);
      isCommitted(project);
      expect(project.git('log', '--branches', '--format=%h', '--', 'private.txt', 'data')).toBe('');
      expect([project.read('private.txt'), project.read('data/users.csv')]).toEqual(['a diary\n', 'users\n']);
    },
  },
  'with merges in progress': {
    agent: agentWith(`rm -f .git/index.lock
other() { GIT_INDEX_FILE="$HOME/other.index" git "$@"; }
if [ -e .git/MERGE_HEAD ]; then
  echo "$SPOOL_ITERATION" > conflict.txt; git add conflict.txt; git commit -q --no-edit
elif [ ! -e "$HOME/finish" ]; then
  other read-tree other && other update-index --add --cacheinfo "100644,$(echo "$SPOOL_ITERATION other" | git hash-object -w --stdin),conflict.txt"
  git update-ref refs/heads/other "$(git commit-tree "$(other write-tree)" -p other -m other)"
  echo "$SPOOL_ITERATION mine" > conflict.txt; git add conflict.txt; git commit -qm mine -- conflict.txt
  git merge -q -m merged other
fi >/dev/null 2>&1`),
    files: { 'conflict.txt': 'first\n' },
    prepare: (project) => project.git('branch', 'other'),
    check: (project) => {
      isCommitted(project);
      expect(project.git('status', '--porcelain')).toBe('');
    },
  },
  'in a worktree, from a shell': {
    agent: agentWith(''),
    args: ['--worktree'],
    check: (project) => {
      expect(project.git('status', '--porcelain')).toBe('');
      expect(project.exists('work.txt')).toBe(false);
      const tags = new Set(project.git('show', `ralph/${change}:work.txt`).split('\n'));
      expect(project.history().filter((record) => !tags.has(`${record.run}/${record.iteration}`))).toEqual([]);
      expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
    },
  },
};

const run = ['ralph', '--change', change, '--json', '--max-iterations', 'unlimited'];

/** The iterations that were reported as finished, in order. */
const announced = (output: string): string[] =>
  output
    .split('\n')
    .filter((line) => line.includes('"iteration-finished"'))
    .flatMap((line) => {
      try {
        const { record } = JSON.parse(line) as { record: IterationRecord };
        return [`${record.run}/${record.iteration}`];
      } catch {
        return [];
      }
    });

const agentLog = (project: TestProject) => readFileSync(join(project.home, 'log'), 'utf8').trimEnd().split('\n');

test(`${killsEach * Object.keys(surroundings).length} kills at random moments lose no record and no file`, async () => {
  const counts = await Promise.all(
    Object.entries(surroundings).map(async ([where, { agent, files, args = [], prepare, meanwhile, check }]) => {
      const random = createRandom(`kills ${where}`);
      const project = createProject({ agent: [agent], ...(files ? { files } : {}) });
      prepare?.(project);
      const reported: string[] = [];
      for (let kill = 0; kill < killsEach; kill++) {
        const others = meanwhile?.(project, random);
        const loop = project.start([...run, ...args]);
        await delay(random() * maxMs);
        loop.kill('SIGKILL');
        reported.push(...announced((await loop.result).stdout));
        await others;
        const history = project.history();
        const kept = new Set(history.map((record) => `${record.run}/${record.iteration}`));
        expect(reported.filter((tag) => !kept.has(tag))).toEqual([]);
        if (existsSync(project.stateFile('state.json'))) expect(project.state().v).toBe(2);
      }

      project.write('../home/finish', '');
      const last = await project.spool(...run, ...args);
      expect(last).toMatchObject({ code: 0, stderr: '' });
      const history = project.history();
      expect(history.map(({ iteration }) => iteration)).toEqual(history.map((__, position) => position + 1));
      expect(new Set(history.map(({ run: of }) => of)).size).toBe(1);

      const log = agentLog(project);
      const ended = new Set(log.filter((line) => line.startsWith('end ')).map((line) => line.slice(4)));
      const recorded = history.map((record) => `${record.run}/${record.iteration}`);
      expect(recorded.filter((tag) => !ended.has(tag))).toEqual([]);
      expect(ended.size).toBe(recorded.length);
      expect(processesWith(`HOME=${project.home}`)).toEqual([]);
      check(project);
      report({
        what: `SIGKILL at a random moment ${where}, then resumed`,
        trials: killsEach,
        found: `${recorded.length} records, 0 lost, 0 unreadable files, all work committed, 0 processes left`,
      });
      return recorded.length;
    }),
  );
  expect(counts.every((count) => count > 0)).toBe(true);
});
