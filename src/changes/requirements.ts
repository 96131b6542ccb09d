import { join } from 'node:path';
import { filesBelow } from '../files/own.ts';
import { changeFolder } from './changes.ts';
import { readIfThere } from '../files/read.ts';
import type { Project } from '../store/project.ts';

/** What a change claims, as it is compared: however a requirement is spelled in capitals and blanks, it is the same one. */
export type Claims = ReadonlyMap<string, string>;

/** The requirements that a change claims in its specs/; each as it is compared, and as `<capability>: <requirement>`. */
export const claimsOf = async (project: Project, change: string): Promise<Claims> => {
  const folder = join(changeFolder(project, change), 'specs');
  const claims = await Promise.all(
    filesBelow(folder)
      .filter((name) => name.endsWith('.md'))
      .map(async (name) => {
        const text = (await readIfThere(join(folder, name))) ?? '';
        const capability = name.replace(/(?:^|\/)spec\.md$/, '');
        return [...text.matchAll(heading)].map(([, title]) => `${capability}: ${title!.trimEnd()}`);
      }),
  );
  return new Map(claims.flat().map((claim) => [compared(claim), claim]));
};

const heading = /^###[ \t]+Requirement:[ \t]*(\S.*)$/gim;

const compared = (claim: string) => claim.normalize('NFC').toLowerCase().replaceAll(/\s+/g, ' ');
