import type { Invocation } from '../registry/command.ts';
import { refuseAgents } from '../user/refuse-agents.ts';
import { answer } from '../../report/message.ts';
import { openConfig, writeConfig } from './file.ts';
import { valueAt, withoutValue } from './text.ts';

export const run = async (invocation: Invocation): Promise<number> => {
  refuseAgents('config unset');
  const open = await openConfig(invocation);
  const name = open.path.join('.');
  if (valueAt(open.settings, open.path) === undefined) {
    answer(invocation.terminal, `${name} is not set in ${open.name}.`);
    return 0;
  }
  await writeConfig(open, withoutValue(open.settings, open.path));
  answer(invocation.terminal, `Removed ${name} from ${open.name}.`);
  return 0;
};
