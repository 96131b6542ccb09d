import { isObject } from '../../config/resolve.ts';
import { safeJson } from '../../text/controls.ts';
import type { Call } from '../command.ts';
import { openConfig } from './file.ts';
import { type Path, valueAt } from './text.ts';

/** Prints what the file says, whether or not a run would take it. */
export const run = async (call: Call): Promise<number> => {
  const { settings, path: own, section, name } = await openConfig(call);
  const path = section?.holding ? ['changes', section.holding, ...own.slice(2)] : own;
  const value = valueAt(settings, path);
  if (value === undefined) {
    call.terminal.say(`${path.join('.')} is not set in ${name}.\n`);
    return 1;
  }
  if (call.typed.json) call.terminal.out(`${safeJson(value)}\n`);
  else if (call.argument === undefined) call.terminal.out(linesOf(value, path).join(''));
  else call.terminal.out(`${typeof value === 'string' ? value : safeJson(value)}\n`);
  return 0;
};

/** `changes.002-01.maxCost = 5` */
const linesOf = (value: unknown, path: Path): string[] =>
  isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => linesOf(inner, [...path, key]))
    : [`${path.join('.')} = ${safeJson(value)}\n`];
