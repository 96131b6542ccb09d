import { onTestFinished } from 'vitest';
import type { TestProject } from './project.ts';

/** `spool web` of a project, stopped after the test. */
export const startWeb = async (project: TestProject, ...flags: string[]) => {
  const server = project.start(['web', ...(flags.includes('--port') ? [] : ['--port', '0']), ...flags]);
  onTestFinished(() => void server.kill('SIGKILL'));
  await server.printed('token=');
  const url = new URL(/^http\S+$/m.exec(server.output())![0]);
  return { ...server, url: url.href, port: url.port };
};

/** Lines of OpenCode, as shell commands of a scripted agent. */
const line = (type: string, part: object): string =>
  `cat <<'LINE'\n${JSON.stringify({ type, part: { type, ...part } })}\nLINE`;

export const message = (text: string): string => line('text', { text });

const tool = (name: string, input: object, state: object = {}): string =>
  line('tool_use', { tool: name, state: { status: 'completed', input, ...state } });

export const spends = (cost: number, tokens = { input: 1000, output: 100 }): string =>
  line('step_finish', { reason: 'stop', cost, tokens });

export const shell = (command: string, isFailed = false): string =>
  tool('bash', { command }, isFailed ? { status: 'error', error: 'exit code 1' } : {});
