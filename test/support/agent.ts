import { onTestFinished } from 'vitest';
import { agentBin } from '../../scripts/agents.mjs';
import type { AgentMode } from '../../src/harness/agent-mode.ts';
import { agents } from '../model/agents.mjs';
import { type Moment, type Refusal, startModel, type Turn } from '../model/server.mjs';
import { createProject, type ProjectOptions } from './project.ts';

/** A project with the real agent, which talks to a model that follows the script. `mode` is null for its default. */
export const createAgentProject = async (
  name: string,
  script: (moment: Moment, folder: string) => Turn | Refusal,
  options: ProjectOptions = {},
  mode: AgentMode | null = 'cold',
) => {
  const agent = agents[name]!;
  const project = createProject(options);
  const model = await startModel({ script: (moment) => script(moment, project.folder) });
  onTestFinished(() => model.close());
  const env = {
    ...agent.prepare(project.home, model.url),
    PATH: `${agentBin(name)}:${project.env.PATH}`,
    ...(mode === null && { SPOOL_AGENT_MODE: '' }),
  };
  /** `below` is a folder in the project, or empty. */
  const chosen = ['--harness', name, '--model', agent.model, ...(mode === null ? [] : ['--agent-mode', mode])];
  const startIn = (below: string, ...args: string[]) => project.start([...args, ...chosen], { env, cwd: below });
  const start = (...args: string[]) => startIn('', ...args);
  return {
    ...project,
    /** The same project, whose commands do not choose the agent. */
    plain: project,
    model,
    env: { ...project.env, ...env },
    chosen,
    start,
    startIn,
    run: (...args: string[]) => start(...args).result,
  };
};

/** Each of two iterations runs a command, and the second one prints the promise. */
export const twoIterations = ({ iteration, step }: Moment): Turn => {
  if (step === 0) return { text: `I work on ${iteration}.`, tools: [{ shell: `echo ${iteration} >> made.txt` }] };
  return { text: iteration === 2 ? 'All is done.\n\n<promise>COMPLETE</promise>' : 'There is more to do.' };
};
