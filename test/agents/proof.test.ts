import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { agentBin } from '../../scripts/agents.mjs';
import { agents } from '../model/agents.mjs';
import { type Moment, type Request, startModel, type Turn } from '../model/server.mjs';
import { processesWith } from '../support/processes.ts';
import { change, createProject } from '../support/project.ts';
import { sandboxProblem } from '../support/sandbox.ts';

const noSandbox = sandboxProblem();

const scenario = (title: string, then: string) => `
#### Scenario: ${title}

- **WHEN** it is called
- **THEN** ${then}
`;

const spec = `## ADDED Requirements

### Requirement: Adding

The program SHALL add numbers.
${scenario('Two numbers', 'the sum of 1 and 2 is 3')}${scenario('No numbers', 'the sum is 0')}${scenario('Text', 'it throws')}`;

const files = { [`.spool/changes/${change}/specs/sum/spec.md`]: spec };

const testOf = (id: string, check: string) => `test('${id} @${'scenario'} sum/adding/${id}', () => ${check});\n`;

const start = `import test from 'node:test';
import assert from 'node:assert';
import { sum } from './sum.mjs';
${testOf('two-numbers', 'assert.equal(sum(1, 2), 3)')}${testOf('no-numbers', 'assert.equal(sum(), 0)')}`;

const code = (more: string) => `${more}export const sum = (...all) => {
  if (all.some((each) => typeof each !== 'number')) throw new TypeError('not a number');
  return all.reduce((a, b) => a + b, 0);
};
`;

/** What each iteration writes: the third scenario has no test at first, and a comment is missing until the review. */
const written: Readonly<Record<number, { name: string; content: string }[]>> = {
  1: [
    { name: 'sum.mjs', content: code('') },
    { name: 'sum.test.mjs', content: start },
  ],
  2: [{ name: 'sum.test.mjs', content: start + testOf('text', "assert.throws(() => sum('a'))") }],
  3: [{ name: 'sum.mjs', content: code('/** Adds numbers. */\n') }],
};

interface Reviewed {
  readonly reviewer: string;
  readonly review: (request: Request) => Turn;
  readonly more?: readonly string[];
}

/** Runs the real OpenCode on the change, reviewed by another real agent. */
const runReviewed = async ({ reviewer: name, review, more = [] }: Reviewed) => {
  const project = createProject({ files });
  const script = ({ iteration, step }: Moment, request: Request): Turn => {
    if (request.prompt.includes(`# Review of ${change}`)) return review(request);
    if (iteration === 0) return { text: 'A title' };
    if (step > 0) return { text: 'All is done.\n\n<promise>COMPLETE</promise>' };
    const tools = written[iteration]!.map(({ name: file, content }) => ({
      write: join(project.folder, file),
      content,
    }));
    // OpenCode overwrites only what it has read.
    return { text: 'I work.', tools: iteration === 1 ? tools : tools.map(asShell) };
  };
  const model = await startModel({ script });
  onTestFinished(() => model.close());
  const env = {
    ...agents.opencode!.prepare(project.home, model.url),
    ...agents[name]!.prepare(project.home, model.url),
    // Codex does not install its sandbox in a temporary folder.
    TMPDIR: join(project.home, 'tmp'),
    PATH: `${agentBin('opencode')}:${agentBin(name)}:${project.env.PATH}`,
  };
  mkdirSync(env.TMPDIR);
  const reviewer = `${name}:${agents[name]!.model}`;
  const flags = ['--require-scenarios', '--verify', 'node --test', '--review', reviewer, ...more];
  const args = ['ralph', '--change', change, '--model', agents.opencode!.model, '--retry-delay', '10ms', ...flags];
  const result = await project.start(args, { env }).result;
  return { project, result, model, reviewer };
};

const asShell = ({ write, content }: { write: string; content: string }) => ({
  shell: `cat > '${write}' <<'END'\n${content}END`,
});

const cases = [
  ['codex', []],
  ['claude', noSandbox === null ? ['--sandbox'] : []],
] as const;

test.each(cases)('OpenCode proves three scenarios, reviewed by %s %j', async (name, more) => {
  const { project, result, reviewer } = await runReviewed({
    reviewer: name,
    more,
    review: ({ prompt, step }) => {
      if (step === 0) return { text: 'I look.', tools: [{ shell: 'git diff base; node --test; echo x > new.txt' }] };
      if (!prompt.includes('+/** Adds'))
        return { text: '## Findings\n\n- sum.mjs:1: has no comment\n\n<verdict>FAIL</verdict>' };
      return { text: 'I read it, and it is right.\n\n<verdict>PASS</verdict>' };
    },
  });

  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr).toContain('  Scenarios   3/3 proven\n');
  expect(result.stderr).toContain(`Review by ${reviewer}: PASS`);
  expect(project.history().map(({ gate }) => [gate!.proof!.count.proven, gate!.review?.verdict ?? null])).toEqual([
    [2, null],
    [3, 'fail'],
    [3, 'pass'],
  ]);
  // The review saw the proof, and what it wrote is gone.
  const prompt = project.read(`.spool/.state/ralph/${change}/runs/${project.state().run}/0003.review.prompt.md`);
  for (const id of ['two-numbers', 'no-numbers', 'text']) expect(prompt).toContain(`\`sum/adding/${id}\`: proven by`);
  expect(project.exists('new.txt')).toBe(false);
  expect(project.git('status', '--porcelain')).toBe('');
  const proof = await project.spool('proof', change, '--json');
  expect(proof).toMatchObject({ code: 0 });
  expect(JSON.parse(proof.stdout)).toMatchObject({ proven: true, count: { proven: 3, total: 3 } });
  expect(processesWith(`HOME=${project.home}`)).toEqual([]);
});
