import type { Config } from '../config/file.ts';
import { namedIn, type Setting } from './settings.ts';

/** A file in a worktree that a trusted command names and whose contents are not trusted. */
export interface UntrustedFile {
  /** `scripts/setup.sh` */
  readonly path: string;
  /** The setting that would run it. */
  readonly source: string;
}

interface UntrustedFilesRequest {
  /** The folder in which the commands would run: a worktree on another commit. */
  readonly root: string;
  readonly config: Config;
  readonly needed: ReadonlySet<string>;
  readonly isTrusted: (setting: Pick<Setting, 'source' | 'hash'>) => boolean;
}

/**
 * Returns the files that are not trusted. Trust covers the files of the project, but a worktree has those of a branch
 * or commit.
 */
export const untrustedFilesIn = ({ root, config, needed, isTrusted }: UntrustedFilesRequest): UntrustedFile[] => {
  const { settings, files } = namedIn({ root }, config);
  const untrusted = new Set(files.filter((file) => !isTrusted(file)).map(({ source }) => source));
  return settings
    .filter(({ source }) => needed.has(source))
    .flatMap((setting) =>
      setting.files.map((file) => ({ path: file.slice('./'.length), source: setting.source, file })),
    )
    .filter(({ file }) => untrusted.has(file))
    .map(({ path, source }) => ({ path, source }));
};
