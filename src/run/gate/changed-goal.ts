import { describeTampering } from '../../guard/guard.ts';
import { pluralise } from '../../text/format.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { RunContext } from '../context.ts';
import { type RestoreContext, restoreInstructions } from './restore-instructions.ts';

/** Announces changes to the goal that are neither restored nor accepted, before the first agent starts. */
export const announceUnaccepted = async (
  context: RestoreContext & Pick<RunContext, 'emit' | 'redactor'>,
): Promise<void> => {
  const { guard, plan, emit, redactor } = context;
  const [first, ...more] = guard.unaccepted;
  if (first === undefined) return;
  const [instruction] = await restoreInstructions(context, [first]);
  const others = more.length === 0 ? '' : ` (and ${pluralise(more.length, 'more change')})`;
  const text = `Promises are rejected until the changed goal is restored or accepted: ${describeTampering(first, redactor)}${others}. To restore it: ${instruction}. To accept it: ${commandLine('spool', 'accept', plan.change)}`;
  emit({ type: 'notice', text });
};
