import { join, relative } from 'node:path';
import type { Config } from '../config/resolve.ts';
import { userError } from '../errors.ts';
import type { Project } from '../store/project.ts';
import { renderSettings } from '../trust/render.ts';
import { judge, type Judged, pinsIn, trustVariable } from '../trust/judge.ts';
import { differingIn } from '../trust/elsewhere.ts';
import { hashOfAll, settingsOf, withFiles } from '../trust/settings.ts';
import { addTrust, readTrusted } from '../trust/store.ts';

/** Shows what a project would run, and asks whether it may. */
export interface Consent {
  readonly say: (lines: readonly string[]) => void;
  /** null where nobody may be asked. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
}

export interface TrustRequest {
  readonly project: Project;
  readonly config: Config;
  /** The sources of what would run. */
  readonly needed: ReadonlySet<string>;
  readonly env: NodeJS.ProcessEnv;
  readonly consent: Consent;
}

/**
 * Answers with what is needed when the user trusts all of it: asked once on a terminal, an error without one. Where
 * something is needed that is not trusted, all of the project that is not trusted is shown.
 */
export const requireTrust = async (request: TrustRequest): Promise<readonly Judged[]> => {
  const { project, config, needed, env, consent } = request;
  const settings = settingsOf(project, config);
  const wanted = withFiles(settings, needed);
  if (wanted.length === 0) return [];
  const pins = pinsIn(env[trustVariable]);
  const hash = hashOfAll(settings);
  if (pins === 'everything') {
    const lines = renderSettings(judge(wanted, []));
    consent.say([`${trustVariable}=1: this project runs what it likes, unseen:`, ...lines]);
    return judge(wanted, []);
  }
  if (pins.includes(hash)) return judge(wanted, []);
  const judged = judge(settings, readTrusted(env, project));
  const isOpen = ({ since }: Judged) => since === null;
  const trusted = () => judge(wanted, readTrusted(env, project));
  if (!trusted().some(isOpen)) return trusted();

  const open = judged.filter(isOpen);
  consent.say([introduction(project, open), ...renderSettings(open)]);
  if (consent.confirm === null) throw userError('untrusted-project', project.root, hash, pins.length > 0);
  if (!(await consent.confirm(question))) throw userError('cancelled', 'the project is not trusted');
  await addTrust(env, project, open);
  return trusted();
};

export interface CopiesRequest extends Omit<TrustRequest, 'consent'> {
  /** What was trusted for these runs. */
  readonly trusted: readonly Judged[];
  /** Where the needed commands are about to run. */
  readonly root: string;
  /** The command that shows how a file there differs. */
  readonly howToSee: (path: string) => string;
}

/** Throws when a needed command would run a file in another folder that is not what the user has trusted. */
export const checkCopies = ({ project, config, env, needed, trusted, root, howToSee }: CopiesRequest): void => {
  if (needed.size === 0 || pinsIn(env[trustVariable]) === 'everything') return;
  const known = [...trusted, ...readTrusted(env, project)];
  const isTrusted = ({ source, hash }: Pick<Judged, 'source' | 'hash'>) =>
    known.some((each) => each.source === source && each.hash === hash);
  const [first] = differingIn({ root, config, needed, isTrusted });
  if (first === undefined) return;
  const where = relative(project.root, join(root, first.path));
  throw userError('untrusted-copy', where, first.source, howToSee(first.path));
};

export const introduction = ({ root }: Project, open: readonly Judged[]): string =>
  open.some(({ before }) => before === null)
    ? `${root} brings settings that run something on this machine:`
    : `${root} has changed what it runs on this machine:`;

export const question = 'Run these from this project?';
