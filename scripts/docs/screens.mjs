// The screens in the docs that wait for the user, or that move.
import { shownAs } from './cluster.mjs';
import { openCluster, scenes } from './scenes.mjs';
import { openScreen } from './screen.mjs';

/**
 * What a command shows when the text appears, from the line that matches `from` on.
 * @param {{ scene: string, line: string, until: RegExp, from: RegExp, isShown?: boolean }} take `isShown`: with the command above it
 * @returns {() => Promise<string>}
 */
const screenOf = ({ scene, line, until, from, isShown = false }) =>
  once(async () => {
    const project = await /** @type {() => ReturnType<typeof scenes[string]>} */ (scenes[scene])();
    const { folder: cwd, env } = project;
    const screen = openScreen({ command: '/bin/sh', args: ['-c', `exec ${line}`], cwd, env, columns: 80, rows: 40 });
    try {
      await screen.shows(until);
      const lines = shownAs(screen.text().replaceAll(cwd, '~/shop')).split('\n');
      return `${isShown ? `$ ${line}\n` : ''}${lines.slice(lines.findLastIndex((text) => from.test(text))).join('\n')}\n`;
    } finally {
      screen.kill();
      await screen.exitCode;
      await project.close();
    }
  });

/** Several pages may show it. @param {() => Promise<string>} take */
const once = (take) => {
  /** @type {Promise<string> | undefined} */
  let taken;
  return () => (taken ??= take());
};

/** @type {Record<string, () => Promise<string>>} */
export const screens = {
  list: screenOf({ scene: 'busy', line: 'spool ralph', until: /a: all/, from: /Which change/ }),
  run: screenOf({
    scene: 'steady',
    line: 'spool ralph 001-01 --verify "npm test"',
    until: /3 tools · 2\/4 tasks/,
    from: /^ralph/,
  }),
  board: screenOf({
    scene: 'several',
    line: 'spool ralph --all --parallel 3',
    until: /#2\/50.*npm test\n.*refunds.js\n.*node src/,
    from: /^Running/,
  }),
  hub: async () => (await openCluster()).hub,
  worker: async () => (await openCluster()).worker,
  people: async () => (await openCluster()).people,
  web: screenOf({ scene: 'project', line: 'spool web', until: /token=\S{40}/, from: /^Serving/, isShown: true }),
  trust: screenOf({ scene: 'untrusted', line: 'spool ralph 001-01', until: /Yes \/ /, from: /settings that run/ }),
};
