import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { TestProject } from './project.ts';

/** A pull request as the scripted `gh` keeps it. */
export interface TestPull {
  number: number;
  state: 'OPEN' | 'CLOSED' | 'MERGED';
  isDraft: boolean;
  title: string;
  body: string;
  base: string;
  head: string;
  headRefOid: string;
  isCrossRepository?: boolean;
}

/**
 * Gives a project a bare remote, reached through the address of a repository on GitHub, and puts a scripted `gh` on PATH,
 * which keeps pull requests in a file and knows the options that the real one has.
 */
export const withGithub = (project: TestProject, { url = 'https://github.com/acme/shop.git' } = {}) => {
  const base = dirname(project.home);
  const remote = join(base, 'remote.git');
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', remote], { env: project.env });
  project.git('config', '--global', `url.${remote}.insteadOf`, url);
  project.git('remote', 'add', 'origin', url);
  project.git('push', '--quiet', 'origin', 'main');
  return withGh(project, remote);
};

/** The same for a project that has a bare remote. */
export const withGh = (project: Pick<TestProject, 'home' | 'env' | 'start'>, remote: string) => {
  const base = dirname(project.home);
  const file = join(base, 'pulls.json');
  const calls = join(base, 'gh-calls.jsonl');
  const folder = join(base, 'bin');
  mkdirSync(folder);
  writeFileSync(join(folder, 'gh'), `#!${process.execPath}\n${program(file, calls, remote)}`);
  chmodSync(join(folder, 'gh'), 0o755);
  const env = { PATH: `${folder}${delimiter}${project.env.PATH}` };
  return {
    env,
    remote,
    spool: (...args: string[]) => project.start(args, { env }).result,
    pulls: (): TestPull[] => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as TestPull[]) : []),
    setPulls: (pulls: readonly TestPull[]) => writeFileSync(file, JSON.stringify(pulls)),
    /** The arguments of each call, and where it ran. */
    calls: (): { args: string[]; cwd: string }[] =>
      existsSync(calls)
        ? readFileSync(calls, 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as { args: string[]; cwd: string })
        : [],
    /** Replaces what gh does. */
    script: (text: string) => writeFileSync(join(folder, 'gh'), `#!/bin/sh\n${text}\n`),
    onRemote: (...args: string[]) =>
      execFileSync('git', ['--git-dir', remote, ...args], { env: project.env, encoding: 'utf8' }).trim(),
  };
};

const program = (file: string, calls: string, remote: string): string => `
const fs = require('node:fs');
const { execFileSync } = require('node:child_process');
const args = process.argv.slice(2);
fs.appendFileSync(${JSON.stringify(calls)}, JSON.stringify({ args, cwd: process.cwd() }) + '\\n');
const known = ['head', 'base', 'state', 'limit', 'json', 'repo', 'title', 'body-file', 'draft'];
const words = args.filter((arg) => !arg.startsWith('--'));
const options = {};
for (const arg of args.filter((one) => one.startsWith('--'))) {
  const [, name, value] = /^--([a-z-]+)(?:=([^]*))?$/.exec(arg) ?? [];
  if (!known.includes(name)) { console.error('unknown flag: ' + arg); process.exit(1); }
  options[name] = value ?? true;
}
const pulls = fs.existsSync(${JSON.stringify(file)}) ? JSON.parse(fs.readFileSync(${JSON.stringify(file)}, 'utf8')) : [];
const save = () => fs.writeFileSync(${JSON.stringify(file)}, JSON.stringify(pulls));
const tip = (branch) => execFileSync('git', ['--git-dir', ${JSON.stringify(remote)}, 'rev-parse', 'refs/heads/' + branch], { encoding: 'utf8' }).trim();
const url = (number) => 'https://github.com/acme/shop/pull/' + number;
const [group, action, number] = words;
if (group !== 'pr') process.exit(1);
const one = pulls.find((pull) => String(pull.number) === number);
if (action === 'list') {
  const found = pulls.filter(({ head }) => head === options.head);
  for (const pull of found) if (pull.state === 'OPEN' && !pull.isCrossRepository) pull.headRefOid = tip(pull.head);
  console.log(JSON.stringify(found.map((pull) => ({ ...pull, url: url(pull.number), isCrossRepository: pull.isCrossRepository ?? false }))));
} else if (action === 'create') {
  const next = pulls.length + 1;
  pulls.push({ number: next, state: 'OPEN', isDraft: options.draft === true, title: options.title, body: fs.readFileSync(0, 'utf8'), base: options.base, head: options.head, headRefOid: tip(options.head) });
  save();
  console.log(url(next));
} else if (action === 'edit') {
  one.body = fs.readFileSync(0, 'utf8');
  save();
  console.log(url(one.number));
} else if (action === 'ready') {
  one.isDraft = false;
  save();
}
`;
