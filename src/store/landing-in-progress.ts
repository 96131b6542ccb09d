import { createFolder } from '../files/folders.ts';
import { removeSafely, writeSafely } from '../files/safe.ts';
import { readJson } from '../files/read.ts';
import { object, oneOf, required, type Shape, text } from '../text/shape.ts';
import { landingFile } from './paths.ts';

/** A landing that is about to move its base. If it is killed, the next one finishes it. */
export interface LandingInProgress {
  readonly v: 1;
  readonly branch: string;
  readonly base: string;
  /** The commit of the branch. */
  readonly tip: string;
  /** The commits of the base before and after. */
  readonly from: string;
  readonly to: string;
}

export const writeLandingInProgress = (userState: string, present: LandingInProgress): void => {
  createFolder(userState);
  writeSafely(landingFile(userState), `${JSON.stringify(present, null, 2)}\n`);
};

export const readLandingInProgress = (userState: string): LandingInProgress | null =>
  parseLanding(readJson(landingFile(userState))) ?? null;

export const dropLandingInProgress = (userState: string): void => removeSafely(landingFile(userState));

const parseLanding: Shape<LandingInProgress> = object<LandingInProgress>({
  v: required(oneOf([1])),
  branch: required(text),
  base: required(text),
  tip: required(text),
  from: required(text),
  to: required(text),
});
