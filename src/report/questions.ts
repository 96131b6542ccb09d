import { confirm as askYesOrNo, isCancel, multiselect, select, text } from '@clack/prompts';
import { oneLine } from './shorten.ts';

export interface Choice {
  readonly value: string;
  readonly hint?: string;
}

/** Lets the user choose from a list. Returns null if cancelled. */
export const ask = async (message: string, choices: readonly Choice[]): Promise<string | null> => {
  const options = choices.map(optionOf);
  const chosen = await select({ message: oneLine(message), options, maxItems: 12, output: process.stderr });
  return isCancel(chosen) ? null : chosen;
};

/** Lets the user choose one or more. Returns null if cancelled. */
export const askSeveral = async (message: string, choices: readonly Choice[]): Promise<string[] | null> => {
  const options = choices.map(optionOf);
  const chosen = await multiselect({
    message: oneLine(message),
    options,
    maxItems: 12,
    required: true,
    output: process.stderr,
  });
  return isCancel(chosen) ? null : chosen;
};

/** Returns false if cancelled. */
export const confirm = async (message: string): Promise<boolean> => {
  const answer = await askYesOrNo({ message: oneLine(message), initialValue: false, output: process.stderr });
  return !isCancel(answer) && answer;
};

/** Asks for a line of text, which may be empty. Returns null if cancelled. `problem` returns what is wrong with it. */
export const askText = async (
  message: string,
  problem: (answer: string) => string | undefined,
): Promise<string | null> => {
  const answer = await text({
    message: oneLine(message),
    validate: (value) => problem(value ?? ''),
    output: process.stderr,
  });
  return isCancel(answer) ? null : (answer ?? '');
};

/** The library writes to the terminal directly, so controls are removed here. */
const optionOf = ({ value, hint }: Choice) => ({
  value,
  label: oneLine(value),
  ...(hint === undefined ? {} : { hint: oneLine(hint) }),
});
