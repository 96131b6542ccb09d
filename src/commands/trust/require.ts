import type { Config } from '../../config.ts';
import { userError } from '../../errors.ts';
import type { Project } from '../../project/find.ts';
import { renderSettings } from '../../report/trust.ts';
import { judge, type Judged, pinsIn, trustVariable } from '../../trust/judge.ts';
import { hashOfAll, settingsOf, withFiles } from '../../trust/settings.ts';
import { addTrust, readTrusted } from '../../trust/store.ts';
import type { Call } from '../command.ts';

export interface TrustRequest {
  readonly project: Project;
  readonly config: Config;
  /** The sources of what would run. */
  readonly needed: ReadonlySet<string>;
  readonly call: Pick<Call, 'env' | 'terminal'>;
  /** A person may be asked, if one is there. */
  readonly mayAsk: boolean;
}

/**
 * Answers with what is needed when the user trusts all of it: asked once on a terminal, an error without one. Where
 * something is needed that is not trusted, all of the project that is not trusted is shown.
 */
export const requireTrust = async (request: TrustRequest): Promise<readonly Judged[]> => {
  const { project, config, needed, call, mayAsk } = request;
  const settings = settingsOf(project, config);
  const wanted = withFiles(settings, needed);
  if (wanted.length === 0) return [];
  const pins = pinsIn(call.env[trustVariable]);
  const hash = hashOfAll(settings);
  if (pins === 'everything') {
    const lines = renderSettings(judge(wanted, []));
    call.terminal.say(`${trustVariable}=1: this project runs what it likes, unseen:\n${lines.join('\n')}\n`);
    return judge(wanted, []);
  }
  if (pins.includes(hash)) return judge(wanted, []);
  const judged = judge(settings, readTrusted(call.env, project));
  const isOpen = ({ since }: Judged) => since === null;
  const trusted = () => judge(wanted, readTrusted(call.env, project));
  if (!trusted().some(isOpen)) return trusted();

  const open = judged.filter(isOpen);
  call.terminal.say(`${introduction(project, open)}\n${renderSettings(open).join('\n')}\n`);
  if (!mayAsk || !call.terminal.canAsk) throw userError('untrusted-project', project.root, hash, pins.length > 0);
  if (!(await confirmTrust())) throw userError('cancelled', 'the project is not trusted');
  await addTrust(call.env, project, open);
  return trusted();
};

export const introduction = ({ root }: Project, open: readonly Judged[]): string =>
  open.some(({ before }) => before === null)
    ? `${root} brings settings that run something on this machine:`
    : `${root} has changed what it runs on this machine:`;

export const confirmTrust = async (): Promise<boolean> => {
  const { confirm } = await import('../../report/ask.ts');
  return confirm('Run these from this project?');
};
