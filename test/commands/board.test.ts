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
/** Works on its second iteration from `go-2` on, and so forth. */
const agent = [
  `change=$(sed -n 's/^## Change Proposal (\\(.*\\))$/\\1/p' "$call/prompt"); echo x >> "$HOME/n-$change"
   step=$(wc -l < "$HOME/n-$change"); until [ -e "$HOME/go-$((step + 1))" ]; do sleep 0.01; done
   if [ "$step" -ge 3 ]; then ${promise}; fi; echo $$ > work.txt`,
];

const open = (columns: number) => {
  const project = createProject({ files, agent });
  const terminal = openTerminal(project, run, columns);
  const board = () => terminal.lines().filter(({ text }) => /\d, working/.test(text));
  /** The lines of the board as soon as both changes are there. */
  const reached = async (iteration: number) => {
    let shown = board();
    const at = new RegExp(`\\b${iteration}( of 9)?, working`);
    await eventually(() => {
      shown = board();
      return shown.filter(({ text }) => at.test(text)).length === 2;
    }, `two lines of iteration ${iteration}`);
    return shown;
  };
  const atWork = () =>
    eventually(() => [first, second].every((id) => project.exists(`../home/n-${id}`)), 'both agents to work');
  return {
    ...terminal,
    board,
    reached,
    atWork,
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
  'on %d columns no line of the board wraps, and state and iteration are seen',
  async (columns) => {
    const terminal = open(columns);
    await terminal.reached(1);
    terminal.go(2);
    const board = await terminal.reached(2);

    expect(board).toHaveLength(2);
    board.forEach(({ text, rows }, index) => {
      expect(text).toMatch(expected[columns]![index]!);
      expect(rows).toBe(1);
    });
    terminal.go(3);
    terminal.go(4);
    expect(await terminal.exitCode).toBe(0);
    expect(terminal.board()).toEqual([]);
  },
);

test.each([
  ['narrower', 100, 40],
  ['wider', 40, 100],
])('a window that is made %s shows each change once', async (_, before, after) => {
  const terminal = open(before);
  await terminal.reached(1);
  await terminal.atWork();
  terminal.resize(after);
  terminal.go(2);
  const board = await terminal.reached(2);

  expect(board.map(({ rows }) => rows)).toEqual([1, 1]);
  expect(terminal.lines().filter(({ text }) => text.includes('iteration 1, not done yet'))).toHaveLength(2);
  terminal.go(3);
  terminal.go(4);
  expect(await terminal.exitCode).toBe(0);
});
