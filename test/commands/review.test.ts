import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promise, says, waitsFor } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, type TestProject } from '../support/project.ts';

const run = ['ralph', '--change', change, '--retry-delay', '10ms'];
const reviewed = [...run, '--review', 'opencode:second/model', '--verify', 'test -e work.txt'];

const passes = `echo 'I tried it.'; echo '<verdict>PASS</verdict>'`;
const fails = (...findings: string[]) =>
  [...findings.map((finding) => says(`- ${finding}`)), `echo '<verdict>FAIL</verdict>'`].join('; ');
const works = (text: string) => `echo '${text}' > work.txt; ${promise}`;

/** Everything outside of the copy that a reviewer must not change. */
const outside = (project: TestProject) => ({
  refs: project.git('for-each-ref', '--format=%(refname) %(objectname)'),
  head: project.git('rev-parse', 'HEAD'),
  status: project.git('status', '--porcelain'),
  work: project.exists('work.txt') ? project.read('work.txt') : null,
  worktrees: project.git('worktree', 'list'),
});

const copies = (project: TestProject): string[] => {
  const folder = project.path('.spool/worktrees');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.gitignore') : [];
};

describe('--review', () => {
  test('findings of a failed review are in the next prompt and the record, and a later review passes', async () => {
    const before =
      'git rev-parse review base HEAD > $HOME/refs; ls -a > $HOME/files; cat work.txt > $HOME/seen; pwd > $HOME/where';
    const vandal = [
      'echo gone > work.txt 2>/dev/null; rm -f work.txt README.md; echo new > new.txt',
      'git add -A; git -c user.name=x -c user.email=x@x commit -qm vandal; git branch -D main base; git tag v9',
      'git for-each-ref --format="delete %(refname)" | git update-ref --stdin; rm -rf .git; git reset --hard; mkdir -m 0 locked',
    ].join('; ');
    const project = createProject({
      agent: [
        works('one'),
        `${before}; ${vandal}; ${fails('work.txt:1: says one, and two is right', 'no test')}`,
        works('two'),
        passes,
      ],
      files: { [`.spool/changes/${change}/specs/loop/spec.md`]: '#### Scenario: It loops\n\n- **THEN** it loops\n' },
    });
    const start = project.start([...reviewed, '--no-commit', '--review-prompt', 'Look at the spelling.']);
    await start.printed('Review by opencode:second/model: FAIL, 2 findings');
    const during = outside(project);
    const result = await start.result;

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('passes and a review by opencode:second/model passes\n');
    expect(result.stderr).toContain('\nReviewing with opencode:second/model\n');
    expect(result.stderr).toContain('  - work.txt:1: says one, and two is right\n  - no test\n');
    expect(result.stderr).toContain('Review by opencode:second/model: PASS');
    expect(result.stderr).toContain('Complete: done, verified and reviewed in iteration 2.');
    expect(result.stderr).toContain('  Reviews     2 by opencode:second/model, 1 passed\n');

    // The copy was a repository of its own, and nothing of what happened in it is left.
    const { readFileSync } = await import('node:fs');
    const home = (name: string) => readFileSync(join(project.home, name), 'utf8');
    const [record] = project.history();
    expect(home('refs').split('\n')[0]).toBe(record!.checkpoint);
    expect(home('refs').split('\n')[2]).toBe(record!.checkpoint);
    expect(home('seen')).toBe('one\n');
    expect(home('files').split('\n')).toContain('.spool');
    expect(home('where')).toBe(`${project.path(`.spool/worktrees/.review-${change}`)}\n`);
    expect(copies(project)).toEqual([]);
    expect(project.git('branch', '--list', '--format=%(refname:short)')).toBe('main');
    expect(during.refs).toContain('refs/heads/main');
    expect(during.refs).not.toContain('v9');
    expect(project.read('work.txt')).toBe('two\n');
    expect(project.read('README.md')).toBe('A project.\n');
    expect(project.exists('new.txt')).toBe(false);

    expect(project.history()).toMatchObject([
      {
        completionFound: false,
        rejected:
          'the review by opencode:second/model failed: work.txt:1: says one, and two is right (and 1 more finding)',
        gate: {
          passed: false,
          runs: [{ outcome: 'passed' }],
          review: {
            harness: 'opencode',
            model: 'second/model',
            verdict: 'fail',
            findings: ['work.txt:1: says one, and two is right', 'no test'],
            reason: null,
            attempts: 1,
            checkpoint: record!.checkpoint,
          },
        },
      },
      { completionFound: true, gate: { passed: true, review: { verdict: 'pass', findings: [] } } },
    ]);
    expect(project.state()).toMatchObject({ status: 'complete', reviews: { passed: 1, failed: 1 } });

    const [, first, next, second] = project.calls();
    expect(first!.args).toContain('--model=second/model');
    expect(first!.prompt).toContain('Look at the spelling.');
    expect(first!.prompt).toContain('The proposal of the loop.');
    expect(first!.prompt).toContain('#### Scenario: It loops');
    expect(first!.prompt).toContain('- `test -e work.txt` passed');
    expect(first!.prompt).toContain('A work.txt (+1 -0)');
    expect(first!.prompt).toContain('\n+one\n');
    expect(first!.prompt).not.toContain('## Earlier Review');
    expect(next!.prompt).toContain('Another agent has reviewed the work and found this.');
    expect(next!.prompt).toContain('- no test\n```');
    expect(second!.prompt).toContain('A review after iteration 1 let the work fail.');
    expect(second!.prompt).toContain('- work.txt:1: says one, and two is right\n- no test');
    expect(second!.prompt).toContain('Changed since then:\n\n```\nM work.txt (+1 -1)\n```');

    const logs = await project.spool('logs', change, '1', '--review');
    expect(logs.stdout).toContain('- no test');
    expect(logs.stdout).not.toContain('Iteration 1');
    expect((await project.spool('logs', change, '1', '--review', '--raw')).stdout).toMatch(
      /^- work\.txt:1.*\n- no test\n<verdict>FAIL/,
    );
    expect((await project.spool('logs', change, '1', '--review', '--prompt')).stdout).toBe(first!.prompt);
  });
});
