import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { createProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const first = '010-01_a-change-with-quite-a-long-name-that-fills-a-line';
const second = '010-02_変更の名前は全角文字で書かれている';
const files = {
  [`.spool/changes/${first}/proposal.md`]: '# First\n',
  [`.spool/changes/${second}/proposal.md`]: '# Second\n',
};
const run = ['ralph', '--module', '010', '--parallel', '2', '--max-iterations', '9'];
/** Starts its second iteration once `go-2` exists, its third once `go-3` exists, and so on. */
const agent = [
  `change=$(sed -n 's/^## Change Proposal (\\(.*\\))$/\\1/p' "$call/prompt"); echo x >> "$HOME/n-$change"
   step=$(wc -l < "$HOME/n-$change"); until [ -e "$HOME/go-$((step + 1))" ]; do sleep 0.01; done
   if [ "$step" -ge 3 ]; then ${promise}; fi; echo $$ > work.txt`,
];

const open = (columns: number) => {
  const project = createProject({ files, agent });
  const terminal = openTerminal(project, run, columns);
  const dashboard = () => terminal.lines().filter(({ text }) => /\d, working/.test(text));
  /** Waits until both changes show this iteration, and returns their lines. */
  const reached = async (iteration: number) => {
    let shown = dashboard();
    const at = new RegExp(`\\b${iteration}( of 9)?, working`);
    await eventually(() => {
      shown = dashboard();
      return shown.filter(({ text }) => at.test(text)).length === 2;
    }, `two lines of iteration ${iteration}`);
    return shown;
  };
  const bothRunning = () =>
    eventually(() => [first, second].every((id) => project.exists(`../home/n-${id}`)), 'both agents to run');
  return {
    ...terminal,
    dashboard,
    reached,
    bothRunning,
    go: (iteration: number) => project.write(`../home/go-${iteration}`, ''),
  };
};

const expected: Readonly<Record<number, readonly [RegExp, RegExp]>> = {
  100: [
    new RegExp(`^${first}  iteration 2 of 9, working, .*s$`),
    new RegExp(`^${second}  iteration 2 of 9, working, `),
  ],
  50: [/^010-01_.*… {2}iteration 2 of 9, working/, /^010-02_変更.*… {2}iteration 2 of 9, working/],
  26: [/^010-01_.*… {2}2, working$/, /^010-02_.*… {2}2, working$/],
  12: [/^2, working$/, /^2, working$/],
};

test.each([100, 50, 26, 12])(
  'at %d columns no line of the dashboard wraps, and each shows state and iteration',
  async (columns) => {
    const terminal = open(columns);
    await terminal.reached(1);
    terminal.go(2);
    const dashboard = await terminal.reached(2);

    expect(dashboard).toHaveLength(2);
    dashboard.forEach(({ text, rows }, index) => {
      expect(text).toMatch(expected[columns]![index]!);
      expect(rows).toBe(1);
    });
    terminal.go(3);
    terminal.go(4);
    expect(await terminal.exitCode).toBe(0);
    expect(terminal.dashboard()).toEqual([]);
  },
);

test.each([
  ['narrower', 100, 40],
  ['wider', 40, 100],
])('the dashboard shows each change once after the window becomes %s', async (_, before, after) => {
  const terminal = open(before);
  await terminal.reached(1);
  await terminal.bothRunning();
  terminal.resize(after);
  terminal.go(2);
  const dashboard = await terminal.reached(2);

  expect(dashboard.map(({ rows }) => rows)).toEqual([1, 1]);
  expect(terminal.lines().filter(({ text }) => text.includes('iteration 1, not done yet'))).toHaveLength(2);
  terminal.go(3);
  terminal.go(4);
  expect(await terminal.exitCode).toBe(0);
});
