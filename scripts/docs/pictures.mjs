// The pictures of the docs: screens of real runs.
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openDemo } from '../demo-project.mjs';
import { demoLoop } from '../demo-script.mjs';
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

/** How a shell shows a command. @param {readonly string[]} args */
const lineOf = (args) => ['spool', ...args].map((arg) => (arg.includes(' ') ? `"${arg}"` : arg)).join(' ');

/**
 * The loop of the demo, in which the real OpenCode finishes a change: as soon as it shows the text, or at its end.
 * @param {{ until?: RegExp, from?: RegExp }} take which part of it
 * @returns {Picture}
 */
const demoRun = ({ until, from }) => ({
  title: lineOf(demoLoop),
  draw: async () => {
    const demo = await openDemo({ pauseMs: 15 });
    const program = fileURLToPath(new URL('../../dist/spool.cjs', import.meta.url));
    const { folder: cwd, env } = demo;
    const args = [program, ...demoLoop];
    const screen = openScreen({ command: process.execPath, args, cwd, env, columns: 80, rows: 40 });
    try {
      if (until) await screen.shows(until);
      else await screen.exitCode;
      return startingAt(screen.snapshot(), from);
    } finally {
      // The first one stops the agent.
      screen.type('\u0003');
      await screen.exitCode;
      await demo.close();
      rmSync(cwd, { recursive: true, force: true, maxRetries: 5 });
    }
  },
});

/** The rows from the last one that matches. @param {import('./screen.mjs').Screen} screen @param {RegExp} [from] */
const startingAt = ({ columns, rows }, from) => {
  const texts = rows.map((cells) => cells.map(({ text }) => text).join(''));
  return { columns, rows: rows.slice(from ? texts.findLastIndex((text) => from.test(text)) : 0) };
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
  run: demoRun({ until: /Do they pass\?[\s\S]*node --test[\s\S]*OpenCode is working.*1\/3 tasks/ }),
  done: demoRun({ from: / Iteration \d/ }),
};
