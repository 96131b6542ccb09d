// A queue with one worker, for the pages about many machines: started once, for all of them.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const spool = fileURLToPath(new URL('../../dist/spool.cjs', import.meta.url));

/** @typedef {import('./scenes.mjs').Project} Project */

/** The same output on the machine of the docs. @param {string} text */
export const shownAs = (text) =>
  text
    .replace(/127\.0\.0\.1:\d+/g, () => (text.includes('token=') ? '127.0.0.1:7765' : '127.0.0.1:5433'))
    .replaceAll(`(${hostname()})`, '(vm)')
    .replace(/(\bready {2})\S+$/gm, '$1vm');

/**
 * A program in the background, whose output is kept.
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
const start = (args, options) => {
  const child = spawn(process.execPath, [spool, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  /** @type {Set<() => void>} */
  const waiting = new Set();
  const take = (/** @type {string} */ text) => {
    output += text;
    for (const check of waiting) check();
  };
  child.stdout?.setEncoding('utf8').on('data', take);
  child.stderr?.setEncoding('utf8').on('data', take);
  const closed = new Promise((resolve) => child.once('close', resolve));
  /** Resolves to what it has printed, when that matches. @param {RegExp} pattern @returns {Promise<string>} */
  const prints = (pattern) =>
    new Promise((resolve, reject) => {
      const check = () => {
        if (!pattern.test(output)) return;
        waiting.delete(check);
        resolve(output);
      };
      waiting.add(check);
      void closed.then(() => reject(new Error(`spool ${args.join(' ')} has ended:\n${output}`)));
      check();
    });
  const stop = async () => {
    child.kill('SIGTERM');
    await closed;
  };
  return { prints, stop };
};

/** @param {string[]} args @param {{ cwd: string, env: Record<string, string> }} options */
const spoolOutput = (args, options) => {
  const { stdout, stderr } = spawnSync(process.execPath, [spool, ...args], { ...options, encoding: 'utf8' });
  return stdout + stderr;
};

/** @type {ReturnType<typeof openQueue> | undefined} */
let opened;

/** What the pages about many machines show. The first call starts all of it. @param {() => Project} createProject */
export const sharedQueue = (createProject) => (opened ??= openQueue(createProject));

/** Ends it, if it was started. */
export const closeQueue = async () => (await opened)?.close();

/** @param {() => Project} createProject with the changes 001-01 and 001-02, and a remote */
const openQueue = async (createProject) => {
  const project = createProject();
  // Postgres does not run as root but as a user who cannot enter the folders of root.
  const folder = mkdtempSync(join(tmpdir(), 'spool-docs-hub-'));
  chmodSync(folder, 0o755);
  const data = join(folder, 'hub');
  const options = { cwd: project.folder, env: project.env };
  const hub = start(['hub', '--folder', data, '--port', '0'], options);
  /** The last one first. */
  const running = [hub];
  const close = async () => {
    for (const each of running) await each.stop();
    await project.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const ready = await hub.prints(/Only this machine.*\n/);
    const url = (/** @type {string} */ role) =>
      spoolOutput(['hub', '--folder', data, '--print-url', role], options).trim();
    const [, trusted = ''] = /SPOOL_TRUST=(sha256:\w+)/.exec(spoolOutput(['trust', '--show'], options)) ?? [];
    const worker = start(['worker', '--name', 'build-1', '--folder', join(folder, 'clones')], {
      ...options,
      env: { ...project.env, SPOOL_QUEUE: url('worker'), SPOOL_TRUST: trusted },
    });
    running.unshift(worker);
    await worker.prints(/is ready/);
    const env = { ...project.env, SPOOL_QUEUE: url('user') };
    /** What a person sees. @param {string[]} args */
    const show = (...args) => `$ spool ${args.join(' ')}\n${spoolOutput(args, { ...options, env })}`;
    const added = show('queue', 'add', '001-01');
    const worked = await worker.prints(/001-01\S* complete.*\n/);
    const listed = show('queue', 'list');
    show('queue', 'add', '001-02');
    await worker.prints(/001-02\S* complete.*\n/);

    /** The folder is the default in the docs, but not here, where other hubs may run. @param {string} text */
    const asByDefault = (text) =>
      text
        .replaceAll(` --folder ${data}`, '')
        .replaceAll(data, '~/.local/state/spool/hub')
        // The log of Postgres.
        .replace(/^.* LOG: .*\n/gm, '');
    return {
      hub: shownAs(asByDefault(`$ spool hub\n${ready}`)),
      worker: shownAs(
        `$ SPOOL_QUEUE="$(spool hub --print-url worker)" SPOOL_TRUST=${trusted.slice(0, 11)}… spool worker --name build-1\n${worked}`,
      ),
      people: shownAs(`$ export SPOOL_QUEUE="$(spool hub --print-url user)"\n${added}${listed}`),
      env,
      project,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
