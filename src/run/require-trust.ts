import type { Config } from '../config/resolve.ts';
import { userError } from '../errors.ts';
import type { Project } from '../store/project.ts';
import { renderSettings } from '../trust/render.ts';
import { judge, type Judged, pinsIn, trustVariable } from '../trust/judge.ts';
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

export const introduction = ({ root }: Project, open: readonly Judged[]): string =>
  open.some(({ before }) => before === null)
    ? `${root} brings settings that run something on this machine:`
    : `${root} has changed what it runs on this machine:`;

export const question = 'Run these from this project?';
