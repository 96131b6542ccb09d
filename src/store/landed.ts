import { writeSafely } from '../files/safe.ts';
import { readJson } from '../files/read.ts';
import type { Project } from './project.ts';
import { object, oneOf, orNull, required, type Shape, text, withFallback } from '../text/shape.ts';
import { makeRalphFolder } from './folders.ts';
import { landedFile } from './paths.ts';

/** The last landing of a change. */
export interface Landed {
  readonly v: 1;
  /** The last run before it; null if there was none. */
  readonly run: string | null;
  readonly branch: string;
  readonly base: string;
  readonly commit: string;
  readonly at: string;
}

export const writeLanded = (project: Project, change: string, landed: Landed): void => {
  makeRalphFolder(project, change);
  writeSafely(landedFile(project, change), `${JSON.stringify(landed, null, 2)}\n`);
};

/** Returns null if the change has not landed, or the file is damaged. */
export const readLanded = (project: Project, change: string): Landed | null =>
  landed(readJson(landedFile(project, change))) ?? null;

const landed: Shape<Landed> = object<Landed>({
  v: required(oneOf([1])),
  run: withFallback(null, orNull(text)),
  branch: required(text),
  base: required(text),
  commit: withFallback('', text),
  at: withFallback('', text),
});
