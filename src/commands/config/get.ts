import { isObject } from '../../text/shape.ts';
import { safeJson } from '../../text/controls.ts';
import type { Invocation } from '../registry/command.ts';
import { openConfig } from './file.ts';
import { type Path, valueAt } from './text.ts';

/** Prints what the file contains, even if a run would reject it. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { settings, path: own, section, name } = await openConfig(invocation);
  const path = section?.current ? ['changes', section.current, ...own.slice(2)] : own;
  const value = valueAt(settings, path);
  if (value === undefined) {
    invocation.terminal.log(`${path.join('.')} is not set in ${name}.\n`);
    return 1;
  }
  if (invocation.rawFlags.json) invocation.terminal.print(`${safeJson(value)}\n`);
  else if (invocation.args[0] === undefined) invocation.terminal.print(linesOf(value, path).join(''));
  else invocation.terminal.print(`${typeof value === 'string' ? value : safeJson(value)}\n`);
  return 0;
};

/** `changes.002-01.maxCost = 5` */
const linesOf = (value: unknown, path: Path): string[] =>
  isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => linesOf(inner, [...path, key]))
    : [`${path.join('.')} = ${safeJson(value)}\n`];
