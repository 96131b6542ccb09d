import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { draftChange } from '../../changes/new-change.ts';
import { asUserError, userError } from '../../errors.ts';
import { homeOf } from '../../files/home.ts';
import { withGitScope } from '../../git/call/scope.ts';
import { isInWorkTree, repositoryAt } from '../../git/work-tree.ts';
import { realPath } from '../../process/which.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { Project } from '../../store/project.ts';
import { type StartRequest, startRuns } from './start.ts';

/**
 * Where a project is created: the root of the repository, or without one the current folder. Throws for the home folder
 * and the root of the file system: every folder below would belong to the project.
 */
export const newProjectAt = async (cwd: string, env: NodeJS.ProcessEnv): Promise<Project> => {
  const isTooWide = (folder: string) => folder === realPath(homeOf(env)) || dirname(folder) === folder;
  const found = (await withGitScope(() => repositoryAt(cwd))).repository?.root ?? null;
  if (found !== null && isInWorkTree(cwd, found) && !isTooWide(found)) return { root: found };
  if (isTooWide(realPath(cwd))) throw userError('home-project', cwd);
  return { root: cwd };
};

/** Creates a change from the prompt, which becomes its proposal, and runs it. Returns the exit code. */
export const startNewChange = async (
  request: Omit<StartRequest, 'changes' | 'newChange'>,
  module: string | null,
): Promise<number> => {
  const { project, options, prompt: text, invocation } = request;
  const publicText = createRedactor(invocation.env).text(text);
  for (;;) {
    const isNewProject = !existsSync(join(project.root, '.spool'));
    const draft = await draftChange(project, {
      module,
      text,
      publicText,
      withTasks: options.requireTasks,
    });
    try {
      const newChange = { ...draft, isNewProject };
      return await startRuns({ ...request, changes: [draft.id], prompt: '', newChange });
    } catch (error) {
      // Another process has taken the number: the next one is free.
      if (asUserError(error)?.code !== 'id-taken') throw error;
    }
  }
};
