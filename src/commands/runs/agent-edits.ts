import { existsSync } from 'node:fs';
import type { Change } from '../../changes/source.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { Project } from '../../store/project.ts';
import { userStateFolder } from '../../store/user-state/folder.ts';
import { guardFile } from '../../store/paths.ts';

/**
 * What an agent has changed in the documents of a change and that was neither restored nor accepted, such as `schema.yaml was
 * changed`. Cheap for a change without a run, and for one whose last run is complete.
 */
export const agentEdits = async (project: Project, change: Change, env: NodeJS.ProcessEnv): Promise<string[]> => {
  const folder = userStateFolder(project, change.id, env);
  if (!existsSync(guardFile(folder))) return [];
  const { describeTampering, unacceptedDocuments } = await import('../../guard/guard.ts');
  const redactor = createRedactor(env);
  return unacceptedDocuments({ project, change, commands: [], folder }).map((each) =>
    describeTampering(each, redactor),
  );
};
