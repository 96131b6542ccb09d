import type { Invocation } from '../command.ts';
import { openConfig, refuseAgents, writeConfig } from './file.ts';
import { valueAt, withoutValue } from './text.ts';

export const run = async (call: Invocation): Promise<number> => {
  refuseAgents('config unset');
  const open = await openConfig(call);
  const name = open.path.join('.');
  if (valueAt(open.settings, open.path) === undefined) {
    call.terminal.print(`${name} is not set in ${open.name}.\n`);
    return 0;
  }
  await writeConfig(open, withoutValue(open.settings, open.path));
  call.terminal.print(`Took ${name} out of ${open.name}.\n`);
  return 0;
};
