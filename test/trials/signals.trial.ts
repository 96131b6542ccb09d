import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change, createProject, spoolProgram } from '../support/project.ts';
import { report } from '../support/trials.ts';

const agents = {
  'that exits on the signal': 'touch ready; sleep 300',
  'that ignores signals': "trap '' INT TERM HUP; touch ready; while :; do sleep 0.1; done",
  'that forks': 'sleep 301 & sleep 302 & touch ready; wait',
  'that detaches': 'setsid sh -c "sleep 303" < /dev/null > /dev/null 2>&1 & touch ready; sleep 304',
  'that detaches and ignores signals':
    'setsid sh -c "trap \'\' INT TERM HUP; while :; do sleep 0.1; done" & touch ready; sleep 305',
  'that keeps the pipe open': 'setsid sleep 306 & touch ready; sleep 307',
};
const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;
const targets = ['its process', 'its group'] as const;

const rows = Object.keys(agents).flatMap((agent) =>
  signals.flatMap(([signal, code]) => targets.map((target) => ({ agent, signal, code, target }))),
);
let left = 0;

test.each(rows)(
  '$signal to $target leaves no process running, with an agent $agent',
  async ({ agent, signal, code, target }) => {
    const project = createProject({ agent: [agents[agent as keyof typeof agents]] });
    const child = spawn(process.execPath, [spoolProgram, 'ralph', '--change', change, '--stop-grace', '300ms'], {
      cwd: project.folder,
      env: project.env,
      stdio: 'ignore',
      detached: true,
    });
    await eventually(() => project.exists('ready'), 'the agent to work');
    process.kill(target === 'its group' ? -child.pid! : child.pid!, signal);
    const [exitCode] = (await once(child, 'exit')) as [number | null];

    const after = processesWith(`HOME=${project.home}`);
    left += after.length;
    expect(after).toEqual([]);
    expect(exitCode).toBe(code);
    expect(project.history()).toMatchObject([{ iteration: 1, end: 'interrupted', completionFound: false }]);
    expect(project.state()).toMatchObject({ status: 'interrupted', cause: 'signal' });
  },
);

afterAll(() =>
  report({
    what: 'a signal to the process or the group, with agents that ignore it, fork, detach or keep the pipe open',
    trials: rows.length,
    found: `${left} processes left, every record written`,
  }),
);
