import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { changeFolder } from './changes.ts';
import { readIfThere } from './files.ts';
import type { Project } from './find.ts';

/** What a change claims, as it is compared: however a requirement is spelled in capitals and blanks, it is the same one. */
export type Claims = ReadonlyMap<string, string>;

/** The requirements that a change claims in its specs/; each as it is compared, and as `<capability>: <requirement>`. */
export const claimsOf = async (project: Project, change: string): Promise<Claims> => {
  const folder = join(changeFolder(project, change), 'specs');
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.md'));
  const claims = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const text = (await readIfThere(join(parentPath, name))) ?? '';
      const capability = name === 'spec.md' ? relative(folder, parentPath) : join(relative(folder, parentPath), name);
      return [...text.matchAll(heading)].map(([, title]) => `${capability}: ${title}`);
    }),
  );
  return new Map(claims.flat().map((claim) => [compared(claim), claim]));
};

const heading = /^###[ \t]+Requirement:[ \t]*(\S.*?)[ \t]*$/gim;

const compared = (claim: string) => claim.normalize('NFC').toLowerCase().replaceAll(/\s+/g, ' ');
