import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { agentBin } from '../../scripts/agents.mjs';
import { agents } from '../model/agents.mjs';
import { startModel } from '../model/server.mjs';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';

/** What a reviewer tries in its first turn: it reads, runs a command, and vandalises what it can reach by git. */
const looks = [
  'git diff --stat base',
  'cat part.txt',
  'echo vandal > part.txt; rm part.txt; echo x > new.txt',
  'git checkout -q --orphan other; git branch -D main base review; git update-ref -d refs/heads/main',
].join('; ');

test.each(['codex', 'claude'])('%s reviews what OpenCode did: it fails once, then passes', async (name) => {
  const project = createProject();
  const model = await startModel({
    script: ({ iteration, step }, { prompt }) => {
      const isReview = prompt.includes(`# Review of ${change}`);
      if (isReview && step === 0) return { text: 'I look.', tools: [{ shell: looks }] };
      if (isReview && prompt.includes('+half'))
        return { text: '## Findings\n\n- part.txt:1: says half, and whole is right\n\n<verdict>FAIL</verdict>' };
      if (isReview) return { text: 'I read it, and it is right.\n\n<verdict>PASS</verdict>' };
      if (iteration === 0) return { text: 'A title' };
      if (step === 0)
        return {
          text: 'I work.',
          tools: [{ write: join(project.folder, 'part.txt'), content: iteration === 1 ? 'half\n' : 'whole\n' }],
        };
      return { text: 'All is done.\n\n<promise>COMPLETE</promise>' };
    },
  });
  onTestFinished(() => model.close());
  const env = {
    ...agents.opencode!.prepare(project.home, model.url),
    ...agents[name]!.prepare(project.home, model.url),
    // Codex does not install its sandbox in a temporary folder.
    TMPDIR: join(project.home, 'tmp'),
    PATH: `${agentBin('opencode')}:${agentBin(name)}:${project.env.PATH}`,
  };
  mkdirSync(env.TMPDIR);
  const args = ['ralph', '--change', change, '--model', agents.opencode!.model, '--verify', 'test -s part.txt'];
  const reviewer = `${name}:${agents[name]!.model}`;

  const result = await project.start([...args, '--review', reviewer], { env }).result;

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).toContain(`Review by ${reviewer}: FAIL, 1 finding`);
  expect(result.stderr).toContain(`Review by ${reviewer}: PASS`);
  const finding = 'part.txt:1: says half, and whole is right';
  expect(project.history()).toMatchObject([
    {
      harness: 'opencode',
      completionFound: false,
      rejected: expect.stringContaining(finding),
      gate: { review: { harness: name, verdict: 'fail', findings: [finding], attempts: 1 } },
    },
    { completionFound: true, gate: { passed: true, review: { harness: name, verdict: 'pass', attempts: 1 } } },
  ]);
  // It could run commands, and nothing of what they did is left.
  const tools = project.history().map(({ gate }) => Object.values(gate!.review!.tools ?? {}));
  expect(tools).toEqual([[1], [1]]);
  expect(project.read('part.txt')).toBe('whole\n');
  expect(project.exists('new.txt')).toBe(false);
  expect(project.git('branch', '--format=%(refname:short)')).toBe('main');
  expect(project.git('log', '--format=%an')).not.toContain('vandal');
  expect(project.exists(`.spool/worktrees/.review-${change}`)).toBe(false);
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});

test('copilot reviews: it may run commands, it may not write, and what it is denied is not a pass', async () => {
  const project = createProject();
  let reviews = 0;
  const model = await startModel({
    script: ({ iteration, step }, { prompt }) => {
      const isReview = prompt.includes(`# Review of ${change}`);
      if (isReview && step === 0) {
        reviews++;
        const file = join(project.folder, '.spool', 'worktrees', `.review-${change}`, 'new.txt');
        const tool = reviews === 1 ? { write: file, content: 'x\n' } : { shell: 'cat part.txt; git diff --stat base' };
        return { text: 'I look.', tools: [tool] };
      }
      if (isReview) return { text: 'It is right.\n\n<verdict>PASS</verdict>' };
      if (iteration === 0) return { text: 'A title' };
      if (step === 0) return { text: 'I work.', tools: [{ write: join(project.folder, 'part.txt'), content: 'x\n' }] };
      return { text: 'All is done.\n\n<promise>COMPLETE</promise>' };
    },
  });
  onTestFinished(() => model.close());
  const env = {
    ...agents.opencode!.prepare(project.home, model.url),
    ...agents.copilot!.prepare(project.home, model.url),
    PATH: `${agentBin('opencode')}:${agentBin('copilot')}:${project.env.PATH}`,
  };
  const args = ['ralph', '--change', change, '--model', agents.opencode!.model, '--max-iterations', '1'];

  const result = await project.start([...args, '--review', `copilot:${agents.copilot!.model}`], { env }).result;

  expect(result).toMatchObject({ code: 0 });
  expect(project.history()).toMatchObject([{ gate: { review: { harness: 'copilot', verdict: 'pass', attempts: 2 } } }]);
  expect(Object.values(project.history()[0]!.gate!.review!.tools!)).toEqual([1]);
  const folder = `.spool/.state/ralph/${change}/runs/${project.state().run}`;
  expect(project.read(`${folder}/0001.review.log.1`)).toMatch(/denied|not allowed|permission/i);
});
