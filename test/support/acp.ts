import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProject, root } from './project.ts';

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
  return {
    ...project,
    /** What the agent was asked, and what it did. */
    seen: (): Record<string, unknown>[] => {
      const file = join(project.home, 'acp-seen.jsonl');
      return existsSync(file)
        ? readFileSync(file, 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as Record<string, unknown>)
        : [];
    },
  };
};
