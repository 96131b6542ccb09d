import { git } from './call/git.ts';
import { inMirror } from './mirror.ts';

export interface StoredFiles {
  readonly mirror: string;
  /** Where the commit is kept in the mirror, so that a push finds it. */
  readonly ref: string;
  /** The commit with the files that have not changed; null to start with none. */
  readonly base: string | null;
  /** By path. null deletes a file. */
  readonly files: ReadonlyMap<string, Buffer | null>;
  readonly message: string;
  readonly parents: readonly string[];
}

/** Saves files as a commit of a mirror, without a work tree. Returns the commit, or the reason as `why`. */
export const storeFiles = async (stored: StoredFiles): Promise<{ commit: string } | { why: string }> => {
  const { mirror, ref, base } = stored;
  const tree = base === null ? null : await treeIn(mirror, base);
  if (base !== null && tree === null) return { why: `${base} is not in the mirror` };
  const { code, stdout, stderr } = await git(['fast-import', '--quiet', '--force', '--done'], {
    ...inMirror(mirror),
    input: importOf(stored, { tree, seconds: Math.floor(Date.now() / 1000) }),
  });
  const commit = /^[\da-f]{40,64}$/m.exec(stdout)?.[0];
  return code === 0 && commit !== undefined ? { commit } : { why: stderr || `git fast-import failed for ${ref}` };
};

const treeIn = async (mirror: string, commit: string): Promise<string | null> => {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`], inMirror(mirror));
  return code === 0 ? stdout.trim() : null;
};

/** The input of `git fast-import`, in latin1, which preserves every byte. */
const importOf = (
  { ref, files, message, parents }: StoredFiles,
  { tree, seconds }: { readonly tree: string | null; readonly seconds: number },
): string => {
  const data = (content: Buffer) => `data ${content.length}\n${content.toString('latin1')}\n`;
  const changes = [...files].map(([path, content]) =>
    content === null ? `D ${quoted(path)}\n` : `M 100644 inline ${quoted(path)}\n${data(content)}`,
  );
  return [
    `reset ${ref}\n\n`,
    `commit ${ref}\nmark :1\n`,
    `committer Spool <spool@localhost> ${seconds} +0000\n`,
    data(Buffer.from(message)),
    ...parents.map((parent) => `merge ${parent}\n`),
    'deleteall\n',
    ...(tree === null ? [] : [`M 040000 ${tree} ""\n`]),
    ...changes,
    '\nget-mark :1\ndone\n',
  ].join('');
};

const quoted = (path: string): string =>
  `"${Buffer.from(path)
    .toString('latin1')
    .replaceAll(/["\\\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`;

/** Returns the files of a commit of a mirror, by path; null if git fails. */
export const readStoredFiles = async (mirror: string, commit: string): Promise<Map<string, Buffer> | null> => {
  const listed = await git(['ls-tree', '-r', '-z', commit], inMirror(mirror));
  if (listed.code !== 0) return null;
  const entries = listed.stdout
    .split('\0')
    .filter(Boolean)
    .map((line) => /^(\d+) blob ([\da-f]+)\t(.*)$/s.exec(line))
    .filter((found) => found !== null)
    .map(([, , id, path]) => ({ id: id!, path: Buffer.from(path!, 'latin1').toString('utf8') }));
  const read = await git(['cat-file', '--batch'], {
    ...inMirror(mirror),
    input: entries.map(({ id }) => `${id}\n`).join(''),
  });
  if (read.code !== 0) return null;
  const files = new Map<string, Buffer>();
  let at = 0;
  for (const { path } of entries) {
    const end = read.stdout.indexOf('\n', at);
    const size = Number(/ blob (\d+)$/.exec(read.stdout.slice(at, end))?.[1] ?? Number.NaN);
    if (Number.isNaN(size)) return null;
    files.set(path, Buffer.from(read.stdout.slice(end + 1, end + 1 + size), 'latin1'));
    at = end + 1 + size + 1;
  }
  return files;
};

/** One file of a commit of a mirror; null if the commit does not have it. */
export const readStoredFile = async (mirror: string, commit: string, path: string): Promise<Buffer | null> => {
  const { code, stdout } = await git(['cat-file', 'blob', objectAt(commit, path)], inMirror(mirror));
  return code === 0 ? Buffer.from(stdout, 'latin1') : null;
};

/** The size of a file of a commit of a mirror; null if the commit does not have it. */
export const storedSize = async (mirror: string, commit: string, path: string): Promise<number | null> => {
  const { code, stdout } = await git(['cat-file', '-s', objectAt(commit, path)], inMirror(mirror));
  return code === 0 ? Number(stdout.trim()) : null;
};

const objectAt = (commit: string, path: string) => `${commit}:${Buffer.from(path).toString('latin1')}` as const;

/** The message of a commit of a mirror; null if it has no such commit. */
export const messageOf = async (mirror: string, commit: string): Promise<string | null> => {
  const { code, stdout } = await git(['log', '-1', '--format=%B', commit, '--'], inMirror(mirror));
  return code === 0 ? Buffer.from(stdout, 'latin1').toString('utf8') : null;
};
