import { requestsFile } from '../paths.ts';
import { appendLine, linesIn } from './lines.ts';

/** Called before the user sends a request that no agent may send. */
export const recordRequest = (folder: string, id: string): void => appendLine(requestsFile(folder), `${id}\n`);

export const isRecordedRequest = (folder: string, id: string): boolean => linesIn(requestsFile(folder)).includes(id);
