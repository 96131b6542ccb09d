import { pushesFile } from '../paths.ts';
import { appendLine, linesIn } from './lines.ts';

/** Called with what `spool publish` has pushed. */
export const recordPush = (folder: string, branch: string, commit: string): void =>
  appendLine(pushesFile(folder), `${branch} ${commit}\n`);

/** Whether Spool itself has pushed this commit to a branch. */
export const hasPushed = (folder: string, branch: string, commit: string): boolean =>
  linesIn(pushesFile(folder)).includes(`${branch} ${commit}`);
