// Installs the agent CLIs and other versions of Node that are tested, each at its version, into a cache folder outside
// of this package.
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runNpm } from './npm.mjs';
import { agents } from '../test/model/agents.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'spool-agents');

/**
 * The folder with the binary of an agent; installs it when it is not there yet. OpenCode comes with this package.
 * @param {string} name
 */
export const agentBin = (name) => {
  if (name === 'opencode') return join(root, 'node_modules', '.bin');
  const agent = agents[name];
  if (!agent) throw new Error(`no agent ${name}`);
  const bin = installed(name, agent.package, agent.version);
  // Its first line finds this Node before that of the tests.
  if (agent.node && !existsSync(join(bin, 'node'))) symlinkSync(nodeProgram(agent.node), join(bin, 'node'));
  return bin;
};

/**
 * A version of Node; installs it when it is not there yet.
 * @param {string} version
 */
export const nodeProgram = (version) => join(installed('node', 'node', version), 'node');

/** @param {string} name @param {string} spec @param {string} version */
const installed = (name, spec, version) => {
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(folder)) install(folder, `${spec}@${version}`);
  return join(folder, 'node_modules', '.bin');
};

/** @param {string} folder @param {string} spec */
const install = (folder, spec) => {
  process.stderr.write(`Installing ${spec}\n`);
  const draft = `${folder}.${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  writeFileSync(join(draft, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', spec];
  runNpm(args, draft);
  if (existsSync(folder)) rmSync(draft, { recursive: true, force: true });
  else renameSync(draft, folder);
};
