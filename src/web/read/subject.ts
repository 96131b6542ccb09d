import type { Redactor } from '../../secrets/redact.ts';
import type { Project } from '../../store/project.ts';
import type { RemoteRuns } from '../remote.ts';

/** What everything that reads is about. */
export interface Subject {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly redactor: Redactor;
  /** null without a queue. */
  readonly remote: RemoteRuns | null;
}
