import { describe, expect, test } from 'vitest';
import { fails, promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Rich iteration history and reporting', () => {
  // @scenario ralph-telemetry/rich-iteration-history-and-reporting/each-iteration-records-exit-code-and-git-change-summary
  test('Each iteration records exit code and git change summary', async () => {
    const project = createProject({
      agent: [`printf 'a\\nb\\n' > new.txt; echo more >> README.md; exit 5`, `git rm -q new.txt; ${promise}`],
    });
    project.write('dirty.txt', 'written by the user before the run\n');

    await project.spool('ralph', 'Build it.', '--change', change, '--retry-delay', '1ms');

    expect(project.history()).toMatchObject([
      {
        iteration: 1,
        exitCode: 5,
        completionFound: false,
        git: { filesChanged: 2, files: ['README.md', 'new.txt'], insertions: 3, deletions: 0 },
      },
      {
        iteration: 2,
        exitCode: 0,
        completionFound: true,
        git: { filesChanged: 1, files: ['new.txt'], insertions: 0, deletions: 2 },
      },
    ]);
    const commits = project.history().map((record) => record.commit);
    expect(commits).toEqual([project.git('rev-parse', 'HEAD~1'), project.git('rev-parse', 'HEAD')]);
    for (const record of project.history()) expect(record.durationMs).toBeGreaterThan(0);
  });

  // @scenario ralph-telemetry/rich-iteration-history-and-reporting/status-command-reports-recent-iteration-outcomes
  test('Status command reports recent iteration outcomes', async () => {
    const project = createProject({ agent: [fails(3), `echo x > new.txt; ${promise}`] });
    await project.spool('ralph', 'Build it.', '--change', change, '--retry-delay', '1ms');

    const { stdout } = await project.spool('ralph', '--status', '--change', change);

    expect(stdout).toContain('Complete: done in iteration 2');
    expect(stdout).toContain('2/50 iterations');
    const [head, first, second] = stdout.split('\n').filter((line) => /^ +(# {2}|\d)/.test(line));
    expect(head).toMatch(/# +result +exit +took +files +lines +cost +commit$/);
    expect(first).toMatch(/^ +1 +failed +3 +[\d.]+m?s +[█▏▎▍▌▋▊▉]+ +0 +- +- +-$/);
    expect(second).toMatch(/^ +2 +done +0 +[\d.]+m?s +[█▏▎▍▌▋▊▉]+ +1 +\+1 -0 +- +[0-9a-f]{8}$/);
    expect(stdout).toContain('Trouble     #1 failed: the agent exited with code 3');
  });
});
