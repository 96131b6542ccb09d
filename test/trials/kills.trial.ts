import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { IterationRecord } from '../../src/ralph/events.ts';
import { promise } from '../support/agents.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, type TestProject } from '../support/project.ts';
import { createRandom, report } from '../support/trials.ts';

const killsEach = 50;
const projects = 4;
/** Long enough to be killed in the third iteration, and before the first. */
const longestMs = 1400;

/** Writes down what it does in a log of its own, with the tag of the iteration, and what is staged, which should be nothing. */
const agent = `git diff --cached --name-status >> "$HOME/staged"
echo "start $SPOOL_ITERATION" >> "$HOME/log"
echo "$SPOOL_ITERATION" >> work.txt
sleep 0.0$(( $$ % 9 ))
if [ -e "$HOME/finish" ]; then ${promise}; fi
echo "end $SPOOL_ITERATION" >> "$HOME/log"`;

const run = ['ralph', '--change', change, '--json', '--max-iterations', 'unlimited'];

/** Iterations that were announced as finished, in order. */
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

test(`${killsEach * projects} kills at random moments lose no record and no file`, async () => {
  let records = 0;
  await Promise.all(
    Array.from({ length: projects }, async (_, index) => {
      const random = createRandom(`kills ${index}`);
      const project = createProject({ agent: [agent] });
      const told: string[] = [];
      for (let kill = 0; kill < killsEach; kill++) {
        const loop = project.start(run);
        await delay(random() * longestMs);
        loop.kill('SIGKILL');
        told.push(...announced((await loop.result).stdout));
        const history = project.history();
        const kept = new Set(history.map((record) => `${record.run}/${record.iteration}`));
        expect(told.filter((tag) => !kept.has(tag))).toEqual([]);
        if (existsSync(project.stateFile('state.json'))) expect(project.state().v).toBe(1);
      }

      project.write('../home/finish', '');
      const last = await project.spool(...run);
      expect(last).toMatchObject({ code: 0, stderr: '' });
      const history = project.history();
      expect(history.map(({ iteration }) => iteration)).toEqual(history.map((__, position) => position + 1));
      expect(new Set(history.map(({ run: of }) => of)).size).toBe(1);

      expect(readFileSync(join(project.home, 'staged'), 'utf8')).toBe('');
      expect(project.git('status', '--porcelain')).toBe('');

      const log = agentLog(project);
      const ended = new Set(log.filter((line) => line.startsWith('end ')).map((line) => line.slice(4)));
      const recorded = history.map((record) => `${record.run}/${record.iteration}`);
      expect(recorded.filter((tag) => !ended.has(tag))).toEqual([]);
      expect(ended.size).toBe(recorded.length);
      expect(processesWith(`HOME=${project.home}`)).toEqual([]);
      records += history.length;
    }),
  );
  report({
    what: 'SIGKILL at a random moment, then resumed',
    trials: killsEach * projects,
    found: `${records} records, 0 lost, 0 unreadable files, 0 commits undone by the index, 0 that the agent's own log does not know, 0 processes left`,
  });
});
