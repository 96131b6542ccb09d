import { isObject } from '../../config/resolve.ts';
import { safeJson } from '../../text/controls.ts';
import type { Invocation } from '../command.ts';
import { openConfig } from './file.ts';
import { type Path, valueAt } from './text.ts';

/** Prints what the file says, whether or not a run would take it. */
export const run = async (call: Invocation): Promise<number> => {
  const { settings, path: own, section, name } = await openConfig(call);
  const path = section?.holding ? ['changes', section.holding, ...own.slice(2)] : own;
  const value = valueAt(settings, path);
  if (value === undefined) {
    call.terminal.log(`${path.join('.')} is not set in ${name}.\n`);
    return 1;
  }
  if (call.rawFlags.json) call.terminal.print(`${safeJson(value)}\n`);
  else if (call.argument === undefined) call.terminal.print(linesOf(value, path).join(''));
  else call.terminal.print(`${typeof value === 'string' ? value : safeJson(value)}\n`);
  return 0;
};

/** `changes.002-01.maxCost = 5` */
const linesOf = (value: unknown, path: Path): string[] =>
  isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => linesOf(inner, [...path, key]))
    : [`${path.join('.')} = ${safeJson(value)}\n`];
