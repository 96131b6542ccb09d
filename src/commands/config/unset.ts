import type { Invocation } from '../shared/command.ts';
import { refuseAgents } from '../shared/refuse-agents.ts';
import { openConfig, writeConfig } from './file.ts';
import { valueAt, withoutValue } from './text.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  refuseAgents('config unset');
  const open = await openConfig(invocation);
  const name = open.path.join('.');
  if (valueAt(open.settings, open.path) === undefined) {
    invocation.terminal.print(`${name} is not set in ${open.name}.\n`);
    return 0;
  }
  await writeConfig(open, withoutValue(open.settings, open.path));
  invocation.terminal.print(`Removed ${name} from ${open.name}.\n`);
  return 0;
};
