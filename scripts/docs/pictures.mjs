// The pictures of the docs: screens of real runs.
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openDemo } from '../demo-project.mjs';
import { change } from '../demo-script.mjs';
import { scenes } from './scenes.mjs';
import { openScreen } from './screen.mjs';

/** @typedef {{ title: string, draw: () => Promise<import('./screen.mjs').Screen> }} Picture */

/**
 * The screen of a command, at its end or as soon as it shows the text.
 * @param {{ scene: string, line: string, until?: RegExp, columns?: number, rows?: number, keys?: string }} take
 * @returns {Picture}
 */
const screenOf = ({ scene, line, until, columns = 80, rows = 24, keys }) => ({
  title: line,
  draw: async () => {
    const project = await /** @type {() => ReturnType<typeof scenes[string]>} */ (scenes[scene])();
    const { folder: cwd, env } = project;
    const screen = openScreen({ command: '/bin/sh', args: ['-c', `exec ${line}`], cwd, env, columns, rows });
    try {
      if (until) await screen.shows(until);
      else await screen.exitCode;
      if (keys) screen.type(keys);
      return screen.snapshot();
    } finally {
      screen.kill();
      await screen.exitCode;
      await project.close();
    }
  },
});

/** The loop of the demo: the real OpenCode finishes a change. */
const demoRun = async () => {
  const demo = await openDemo({ pauseMs: 0 });
  const program = fileURLToPath(new URL('../../dist/spool.cjs', import.meta.url));
  const line = `exec "${process.execPath}" "${program}" ralph --change ${change} --verify "npm test" --model scripted/model`;
  const { folder: cwd, env } = demo;
  const screen = openScreen({ command: '/bin/sh', args: ['-c', line], cwd, env, columns: 80, rows: 24 });
  try {
    await screen.exitCode;
    return sinceLastIteration(screen.snapshot());
  } finally {
    await demo.close();
    rmSync(cwd, { recursive: true, force: true, maxRetries: 5 });
  }
};

/** What fits on a page. @param {import('./screen.mjs').Screen} screen */
const sinceLastIteration = ({ columns, rows }) => {
  const start = rows.findLastIndex((cells) =>
    cells
      .map(({ text }) => text)
      .join('')
      .includes(' Iteration '),
  );
  return { columns, rows: rows.slice(start) };
};

/** @type {Record<string, Picture>} */
export const pictures = {
  board: screenOf({
    scene: 'several',
    line: 'spool ralph --all --parallel 3',
    until: /npm test[\s\S]*refunds[\s\S]*node src/,
  }),
  status: screenOf({ scene: 'morning', line: 'spool status 001-01' }),
  watch: screenOf({ scene: 'busy', line: 'spool watch', until: /npm t[\s\S]*complete/, columns: 100, rows: 12 }),
  run: { title: `spool ralph --change ${change} --verify "npm test"`, draw: demoRun },
};
