import { join, relative } from 'node:path';
import type { Config } from '../config/file.ts';
import { userError } from '../errors.ts';
import type { Project } from '../store/project.ts';
import { renderSettings } from '../trust/render.ts';
import { checkTrust, type CheckedSetting, pinsIn, trustVariable } from '../trust/check.ts';
import { untrustedFilesIn } from '../trust/untrusted-files.ts';
import { hashOfAll, settingsOf, withFiles } from '../trust/settings.ts';
import { addTrust, readTrusted } from '../trust/store.ts';

/** Shows what a project would run, and asks the user to trust it. */
export interface Consent {
  readonly say: (lines: readonly string[]) => void;
  /** null without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
}

export interface TrustRequest {
  readonly project: Project;
  readonly config: Config;
  /** The sources of the commands that would run. */
  readonly needed: ReadonlySet<string>;
  readonly env: NodeJS.ProcessEnv;
  readonly consent: Consent;
}

/**
 * Returns the needed settings if the user trusts all of them. Asks once on a terminal, and throws without one. If one
 * of them is not trusted, all settings of the project that are not trusted are shown.
 */
export const requireTrust = async (request: TrustRequest): Promise<readonly CheckedSetting[]> => {
  const { project, config, needed, env, consent } = request;
  const settings = settingsOf(project, config);
  const wanted = withFiles(settings, needed);
  if (wanted.length === 0) return [];
  const pins = pinsIn(env[trustVariable]);
  const hash = hashOfAll(settings);
  if (pins === 'everything') {
    const lines = renderSettings(checkTrust(wanted, []));
    consent.say([`${trustVariable}=1: everything in this project is trusted without review:`, ...lines]);
    return checkTrust(wanted, []);
  }
  if (pins.includes(hash)) return checkTrust(wanted, []);
  const checked = checkTrust(settings, readTrusted(env, project));
  const isUntrusted = ({ since }: CheckedSetting) => since === null;
  const trusted = () => checkTrust(wanted, readTrusted(env, project));
  if (!trusted().some(isUntrusted)) return trusted();

  const shown = checked.filter(isUntrusted);
  consent.say([introduction(project, shown), ...renderSettings(shown)]);
  if (consent.confirm === null) throw untrustedError(request, hash, pins.length > 0);
  if (!(await consent.confirm(question))) throw userError('cancelled', 'the project is not trusted');
  await addTrust(env, project, shown);
  return trusted();
};

/** `spool trust` does not know which task files and scenarios will be run. */
const untrustedError = ({ project, config }: TrustRequest, hash: string, isPinned: boolean) =>
  config.ownVerify === undefined && config.scenarioVerify === undefined
    ? userError('untrusted-project', project.root, hash, isPinned)
    : userError('untrusted-project', project.root, hash, isPinned, 'the same command on a terminal');

export interface CopiesRequest extends Omit<TrustRequest, 'consent'> {
  /** The settings that were trusted for these runs. */
  readonly trusted: readonly CheckedSetting[];
  /** The folder in which the needed commands are about to run. */
  readonly root: string;
  /** Returns the command that shows how a file in `root` differs. */
  readonly howToSee: (path: string) => string;
}

/** Throws if a needed command would run a file in `root` that differs from the one that the user trusts. */
export const checkCopies = ({ project, config, env, needed, trusted, root, howToSee }: CopiesRequest): void => {
  if (needed.size === 0 || pinsIn(env[trustVariable]) === 'everything') return;
  const known = [...trusted, ...readTrusted(env, project)];
  const isTrusted = ({ source, hash }: Pick<CheckedSetting, 'source' | 'hash'>) =>
    known.some((each) => each.source === source && each.hash === hash);
  const [first] = untrustedFilesIn({ root, config, needed, isTrusted });
  if (first === undefined) return;
  const where = relative(project.root, join(root, first.path));
  throw userError('untrusted-copy', where, first.source, howToSee(first.path));
};

export const introduction = ({ root }: Project, open: readonly CheckedSetting[]): string =>
  open.some(({ before }) => before === null)
    ? `${root} has settings that run commands on this machine:`
    : `${root} has changed what it runs on this machine:`;

export const question = 'Run these from this project?';
