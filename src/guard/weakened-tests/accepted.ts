import { readJson } from '../../files/read.ts';
import { replaceSafely } from '../../files/safe.ts';
import { acceptedTestsFile } from '../../store/paths.ts';
import { count, mapOf, object, orNull, required, type Shape } from '../../text/shape.ts';
import type { TestProfile } from './profile.ts';

/** What test files check by now with the consent of the user, by path; null for one that was deleted. */
export type AcceptedTests = Readonly<Record<string, TestProfile | null>>;

const profile: Shape<TestProfile> = object<TestProfile>({
  tests: required(mapOf(count)),
  assertions: required(count),
  skips: required(count),
  tables: required(count),
});

const accepted: Shape<AcceptedTests> = mapOf(orNull(profile));

/** `folder` is the folder of the change in the user's state folder. */
export const readAcceptedTests = (folder: string): AcceptedTests => accepted(readJson(acceptedTestsFile(folder))) ?? {};

export const acceptTests = (folder: string, tests: AcceptedTests): void =>
  replaceSafely(acceptedTestsFile(folder), JSON.stringify({ ...readAcceptedTests(folder), ...tests }));
