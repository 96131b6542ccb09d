import type { Config } from '../config/resolve.ts';
import { namedIn, type Setting } from './settings.ts';

/** A file that a trusted command names in another folder than the project, and that nobody has trusted like that. */
export interface Differing {
  /** `scripts/setup.sh` */
  readonly path: string;
  /** Of the setting that would run it. */
  readonly source: string;
}

interface Elsewhere {
  /** The folder in which the commands would run: a worktree, on another commit. */
  readonly root: string;
  readonly config: Config;
  /** The sources of the commands. */
  readonly needed: ReadonlySet<string>;
  readonly isTrusted: (setting: Pick<Setting, 'source' | 'hash'>) => boolean;
}

/** Trust binds the files of the project; what runs in a worktree are those of a branch or commit. */
export const differingIn = ({ root, config, needed, isTrusted }: Elsewhere): Differing[] => {
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
