import { readConfig } from '../config/file.ts';
import { userError } from '../errors.ts';
import { answer } from '../report/message.ts';
import { refuseAgents } from './shared/refuse-agents.ts';
import { findProject } from '../store/project.ts';
import { pluralise } from '../text/format.ts';
import { renderSettings, renderTrust, toJson } from '../trust/render.ts';
import { checkTrust, trustVariable } from '../trust/check.ts';
import { hashOfAll, settingsOf } from '../trust/settings.ts';
import { addTrust, readTrusted } from '../trust/store.ts';
import type { Invocation } from './shared/command.ts';
import { introduction, question } from '../run/require-trust.ts';
import { confirmOn } from './shared/consent.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const settings = settingsOf(project, await readConfig(project));
  const hash = hashOfAll(settings);
  const checked = checkTrust(settings, readTrusted(env, project));
  if (rawFlags.json) {
    terminal.print(`${JSON.stringify({ project: project.root, hash, settings: checked.map(toJson) }, null, 2)}\n`);
    return 0;
  }
  if (settings.length === 0) {
    answer(terminal, `Nothing to trust: no setting of ${project.root} runs anything.`);
    return 0;
  }
  if (rawFlags.show) {
    terminal.print(`${renderTrust(checked).join('\n')}\n\n${trustVariable}=${hash} trusts exactly this.\n`);
    return 0;
  }
  const open = checked.filter(({ since }) => since === null);
  if (open.length === 0) {
    answer(terminal, `Everything is already trusted; "spool trust --show" lists it.`);
    return 0;
  }
  refuseAgents('trust');
  terminal.log(`${introduction(project, open)}\n${renderSettings(open).join('\n')}\n`);
  const confirm = confirmOn(terminal);
  if (!rawFlags.yes && confirm === null) throw userError('yes-required', 'trusts what this project runs');
  if (!rawFlags.yes && !(await confirm!(question))) {
    throw userError('cancelled', 'the project is not trusted');
  }
  await addTrust(env, project, open);
  answer(terminal, `Trusted ${pluralise(open.length, 'setting')} of ${project.root}.`);
  return 0;
};
