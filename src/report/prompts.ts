import { confirm as askYesOrNo, isCancel, multiselect, select, text } from '@clack/prompts';
import { oneLine } from '../text/format.ts';

export interface Choice {
  readonly value: string;
  readonly hint?: string;
}

/** Shows a list to choose from; null when it was cancelled. */
export const ask = async (message: string, choices: readonly Choice[]): Promise<string | null> => {
  const options = choices.map(optionOf);
  const chosen = await select({ message: oneLine(message), options, maxItems: 12, output: process.stderr });
  return isCancel(chosen) ? null : chosen;
};

/** The same for more than one. */
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

/** No when it was cancelled. */
export const confirm = async (message: string): Promise<boolean> => {
  const answer = await askYesOrNo({ message: oneLine(message), initialValue: false, output: process.stderr });
  return !isCancel(answer) && answer;
};

/** One line of text, which may be empty; null when it was cancelled. `problem` says what is wrong with it, or nothing. */
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

/** The library writes to the terminal itself. */
const optionOf = ({ value, hint }: Choice) => ({
  value,
  label: oneLine(value),
  ...(hint === undefined ? {} : { hint: oneLine(hint) }),
});
