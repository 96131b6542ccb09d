import { join } from 'node:path';
import { asUserError, type UserError } from '../errors.ts';
import type { Project } from '../store/project.ts';

/*
 * What is wrong with one change must not keep the others from being listed.
 */

/** Returns an error that the user can fix instead of throwing it. */
export const attempt = <Result>(read: () => Result): Result | UserError => {
  try {
    return read();
  } catch (error) {
    const problem = asUserError(error);
    if (problem === null) throw error;
    return problem;
  }
};

/** The message of an error about a file, with its path relative to the project. */
export const problemText = ({ root }: Project, { message }: UserError): string =>
  message.replaceAll(join(root, '/'), '');
