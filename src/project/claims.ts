import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { changeFolder } from './changes.ts';
import { ifThere, readIfThere } from './files.ts';
import type { Project } from './find.ts';

/** The requirements that a change claims in its specs/, as `<capability>: <requirement>`. */
export const claimsOf = async (project: Project, change: string): Promise<ReadonlySet<string>> => {
  const folder = join(changeFolder(project, change), 'specs');
  const entries = (await ifThere(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.md'));
  const claims = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const text = (await readIfThere(join(parentPath, name))) ?? '';
      const capability = name === 'spec.md' ? relative(folder, parentPath) : join(relative(folder, parentPath), name);
      return [...text.matchAll(/^###\s+Requirement:\s*(.+?)\s*$/gm)].map(([, title]) => `${capability}: ${title}`);
    }),
  );
  return new Set(claims.flat());
};
