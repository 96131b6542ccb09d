import type { Config } from '../../config/resolve.ts';
import { type CommandKey, type Setting, settingsOf, sourceOf } from '../../trust/settings.ts';
import { addTrust, readTrusted } from '../../trust/store.ts';
import type { Invocation } from '../command.ts';
import { type OpenConfig, openConfig, refuseAgents, writeConfig } from './file.ts';
import { valueOf, withValue } from './text.ts';

/** Who types a command trusts it. */
export const run = async (call: Invocation): Promise<number> => {
  refuseAgents('config set');
  const open = await openConfig(call);
  const value = valueOf(open.path, call.second!);
  // One that is damaged is an error, and must be one before anything is written.
  readTrusted(call.env, open.project);
  const config = await writeConfig(open, withValue(open.settings, open.path, value));
  const trusted = settingsAt(open, config);
  if (trusted.length > 0) await addTrust(call.env, open.project, trusted);
  sayShadowed(open, call);
  const said = `Set ${open.path.join('.')} in ${open.name}: ${JSON.stringify(value)}`;
  call.terminal.print(`${said}${trusted.length > 0 ? '\nTrusted: you set it yourself.' : ''}\n`);
  return 0;
};

/** What of the file needs trust because of the value that was set: not the scripts that it names, which others can edit. */
const settingsAt = ({ project, path, section }: OpenConfig, config: Config): Setting[] => {
  const key = path.join('.') === 'worktree.setup' ? 'worktreeSetup' : path.at(-1)!;
  const source =
    path[0] === 'harnesses' ? sourceOf(`harnesses.${key}`) : sourceOf(key as CommandKey, section?.id ?? undefined);
  return settingsOf(project, config).filter((setting) => setting.source === source);
};

/** Of the sections for a change only the one with the longest id holds. */
const sayShadowed = ({ section }: OpenConfig, { terminal }: Invocation): void => {
  if (section === null || section.holding === null || section.holding === section.id) return;
  terminal.log(`What is set for changes.${section.holding} does not hold for ${section.change} any more.\n`);
};
