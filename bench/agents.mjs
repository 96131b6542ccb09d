// What the modes of an agent cost, with the real OpenCode.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ratioOf } from './measure.mjs';
import { root } from './places.mjs';

/** @param {import('./rows.mjs').Setting} setting @returns {import('./rows.mjs').Row[]} */
export const agentRows = ({ base, quick }) => {
  if (process.platform !== 'linux') return [];
  // In a separate process: the model answers while the agent works.
  const program = join(root, 'bench', 'modes.mjs');
  const { cold, warm } = JSON.parse(
    execFileSync(process.execPath, [program, base, quick ? '3' : '10'], { encoding: 'utf8' }),
  );
  return [
    {
      work: 'one iteration of a warm OpenCode',
      floor: 'the same, started for each iteration',
      goal: 0.25,
      unit: 'ms',
      ratio: ratioOf(warm.times, cold.times),
    },
    {
      work: 'memory of a warm OpenCode, at most',
      floor: 'the same, started for each iteration',
      goal: 1.5,
      unit: 'MB',
      ratio: ratioOf([warm.memoryMb], [cold.memoryMb]),
    },
  ];
};
