import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change } from '../support/project.ts';
import { ledgerOf, prints, requirement, spec } from '../support/proof.ts';
import { createSandboxedProject, oneUser, sandboxProblem } from '../support/sandbox.ts';

const problem = sandboxProblem();

test('reports what is skipped', () => {
  if (problem !== null) process.stderr.write(`\nSKIPPED: proof in the sandbox (${problem})\n`);
});

describe.skipIf(problem !== null)('with --sandbox', () => {
  test.each([
    ['in the project', []],
    ['in a worktree', ['--worktree']],
  ])('reports are read and tests are tried without the change, %s', async (_, where) => {
    const project = createSandboxedProject(oneUser(), {
      files: { [spec]: requirement },
      agent: [
        `mkdir -p test; cat > test/sum.sh <<'END'
[ -d "$SPOOL_REPORTS" ] && [ -z "$(ls -A "$SPOOL_REPORTS")" ] || exit 3
(${prints('[ -e sum.txt ]')}) > "$SPOOL_REPORTS/sum.tap"
END
echo 3 > sum.txt
# Agents have no folder for reports.
echo "reports: [$SPOOL_REPORTS]" > seen.txt
${promise}`,
      ],
    });
    const flags = ['--sandbox', '--allow-all', '--red-first', '--verify', 'sh test/sum.sh', ...where];

    const result = await project.spool('ralph', 'Go.', '--change', change, '--max-iterations', '1', ...flags);

    expect(project.history()[0]).toMatchObject({ rejected: null });
    expect(result).toMatchObject({ code: 0 });
    expect(ledgerOf(project).scenarios).toMatchObject([
      { state: 'proven', redFirst: 'failed', proof: { command: 'sh test/sum.sh', exitCode: 0 } },
    ]);
    const branch = where.length === 0 ? 'HEAD' : `ralph/${change}`;
    expect(project.git('show', `${branch}:seen.txt`)).toBe('reports: []');
    expect(project.git('log', '-1', '--format=%B', branch)).toContain('Scenarios: 1/1 proven');
    expect(readdirSync(project.path('.spool/worktrees'))).toEqual(['.gitignore']);
    expect(project.git('worktree', 'list').split('\n')).toHaveLength(1);
  });
});
