import { readConfig } from '../config/file.ts';
import { userError } from '../errors.ts';
import { answer } from '../report/message.ts';
import { refuseAgents } from './user/refuse-agents.ts';
import { findProject } from '../store/project.ts';
import { pluralise } from '../text/format.ts';
import { renderSettings, renderTrust, toJson } from '../trust/render.ts';
import { checkTrust, trustVariable } from '../trust/check.ts';
import { hashOfAll, settingsOf } from '../trust/settings.ts';
import { addTrust, readTrusted } from '../trust/store.ts';
import { taskFileSettings } from '../trust/task-files.ts';
import type { Invocation } from './registry/command.ts';
import { introduction, question } from '../run/require-trust.ts';
import { confirmOn } from './user/consent.ts';

export const run = async ({ rawFlags, cwd, env, terminal }: Invocation): Promise<number> => {
  const project = findProject(cwd);
  const config = await readConfig(project);
  const trusted = readTrusted(env, project);
  const ofConfig = settingsOf(project, config);
  const taskFiles = await taskFileSettings({ project, config, trusted });
  const settings = [...ofConfig, ...taskFiles.flatMap((each) => each.settings)];
  const hash = hashOfAll(ofConfig);
  const checked = checkTrust(settings, trusted);
  if (rawFlags.json) {
    terminal.print(`${JSON.stringify({ project: project.root, hash, settings: checked.map(toJson) }, null, 2)}\n`);
    return 0;
  }
  if (settings.length === 0) {
    answer(terminal, `Nothing to trust: no setting of ${project.root} runs anything.`);
    return 0;
  }
  if (rawFlags.show) {
    const parts = [
      { settings: ofConfig, pin: ofConfig.length === 0 ? null : `${trustVariable}=${hash} trusts exactly this.` },
      ...taskFiles.map((each) => ({
        settings: each.settings,
        pin: each.pin && `${trustVariable}=${each.pin} trusts a run of ${each.path}.`,
      })),
    ];
    const lines = parts.map((part) => renderTrust(checkTrust(part.settings, trusted)));
    const pins = parts.flatMap(({ pin }) => pin ?? []);
    terminal.print(`${[...lines.flat(), '', ...pins].join('\n').trimEnd()}\n`);
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
