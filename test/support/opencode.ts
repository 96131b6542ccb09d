import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { agents } from '../model/agents.mjs';
import { type Moment, type Refusal, startModel, type Turn } from '../model/server.mjs';
import { createProject, type ProjectOptions, root } from './project.ts';

/** A project in which `opencode` is the real one, talking to a model that follows the script. */
export const createOpencodeProject = async (
  script: (moment: Moment, folder: string) => Turn | Refusal,
  options: ProjectOptions = {},
) => {
  const project = createProject(options);
  const model = await startModel({ script: (moment) => script(moment, project.folder) });
  onTestFinished(() => model.close());
  const env = {
    ...agents.opencode!.prepare(project.home, model.url),
    PATH: `${join(root, 'node_modules', '.bin')}:${project.env.PATH}`,
  };
  const start = (...args: string[]) => project.start([...args, '--model', 'scripted/model'], { env });
  return { ...project, model, start, run: (...args: string[]) => start(...args).result };
};
