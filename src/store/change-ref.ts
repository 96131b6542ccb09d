import type { Project } from './project.ts';

/** Names a change, and the environment that locates the user's state folder. */
export interface ChangeRef {
  readonly project: Project;
  readonly change: string;
  readonly env: NodeJS.ProcessEnv;
}
