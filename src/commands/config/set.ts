import type { Config } from '../../config/file.ts';
import { withoutTokens } from '../../config/notify-targets.ts';
import { type CommandKey, type Setting, settingsOf, sourceOf } from '../../trust/settings.ts';
import { addTrust, readTrusted } from '../../trust/store.ts';
import type { Invocation } from '../registry/command.ts';
import { refuseAgents } from '../user/refuse-agents.ts';
import { answer } from '../../report/message.ts';
import { type OpenConfig, openConfig, writeConfig } from './file.ts';
import { valueOf, withValue } from './text.ts';

/** Trusts the value, because the user typed it. */
export const run = async (invocation: Invocation): Promise<number> => {
  // An agent could make its own settings trusted.
  refuseAgents('config set');
  const open = await openConfig(invocation);
  const value = valueOf(open.path, invocation.args[1]!);
  // Throws if trust.json is damaged, before anything is written.
  readTrusted(invocation.env, open.project);
  const config = await writeConfig(open, withValue(open.settings, open.path, value));
  const trusted = settingsAt(open, config);
  if (trusted.length > 0) await addTrust(invocation.env, open.project, trusted);
  warnShadowed(open, invocation);
  const shown = open.path.at(-1) === 'notify' ? withoutTokens(value) : value;
  const message = `Set ${open.path.join('.')} in ${open.name}: ${JSON.stringify(shown)}`;
  answer(invocation.terminal, `${message}${trusted.length > 0 ? '\nTrusted: you set it yourself.' : ''}`);
  return 0;
};

/** The settings to trust because of this value. Scripts that it runs are not included: others can edit them. */
const settingsAt = ({ project, path, section }: OpenConfig, config: Config): Setting[] => {
  const key = path.join('.') === 'worktree.setup' ? 'worktreeSetup' : path.at(-1)!;
  const source =
    path[0] === 'harnesses'
      ? sourceOf(`harnesses.${key}`)
      : path[0] === 'permissions'
        ? sourceOf('permissions.allow')
        : sourceOf(key as CommandKey, section?.id ?? undefined);
  return settingsOf(project, config).filter((setting) => setting.source === source);
};

/** Of the sections for a change, only the one with the longest ID applies. */
const warnShadowed = ({ section }: OpenConfig, { terminal }: Invocation): void => {
  if (section === null || section.current === null || section.current === section.id) return;
  terminal.log(`The settings in changes.${section.current} no longer apply to ${section.change}.\n`);
};
