import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProject, type ProjectOptions, root, type TestProject } from './project.ts';

export interface AcpScript {
  /** What it does when it is started, for each start; the last one is repeated. */
  readonly boots?: readonly string[];
  /** What it does with each prompt. */
  readonly turns?: readonly string[];
}

/** A project with the scripted agent of test/fixtures/acp-agent.mjs, named `scripted`. */
export const createAcpProject = (script: AcpScript, more: object = {}) => {
  const scripted = {
    command: process.execPath,
    args: [join(root, 'test/fixtures/acp-agent.mjs')],
    protocol: 'acp',
    ...more,
  };
  const config = { harness: 'scripted', harnesses: { scripted } };
  const project = createProject({ files: { '.spool/config.json': JSON.stringify(config) } });
  writeFileSync(join(project.home, 'acp.json'), JSON.stringify(script));
  return { ...project, seen: () => seenBy(project) };
};

/** A project with an OpenCode that speaks ACP as scripted, and runs `agent` if it is started for an iteration. */
export const createOpencodeProject = (script: AcpScript, options: ProjectOptions = {}) => {
  const project = createProject(options);
  project.write('../bin/opencode', opencode);
  chmodSync(project.path('../bin/opencode'), 0o755);
  writeFileSync(join(project.home, 'acp.json'), JSON.stringify(script));
  const env = { ...project.env, PATH: `${project.path('../bin')}:${project.env.PATH}`, SPOOL_AGENT_MODE: '' };
  return {
    ...project,
    env,
    spool: (...args: string[]) => project.start(args, { env }).result,
    seen: () => seenBy(project),
  };
};

const opencode = `#!/bin/sh
[ "$1" = acp ] && exec '${process.execPath}' '${join(root, 'test/fixtures/acp-agent.mjs')}' "$@"
exec '${join(root, 'test/fixtures/bin/opencode')}' "$@"
`;

/** What the agent was asked, and what it did. */
const seenBy = ({ home }: Pick<TestProject, 'home'>): Record<string, unknown>[] => {
  const file = join(home, 'acp-seen.jsonl');
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    : [];
};
