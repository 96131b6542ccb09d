import { MultiSelectPrompt } from '@clack/core';
import {
  confirm as askYesOrNo,
  isCancel,
  limitOptions,
  S_BAR,
  S_BAR_END,
  S_CHECKBOX_ACTIVE,
  S_CHECKBOX_INACTIVE,
  S_CHECKBOX_SELECTED,
  select,
  symbol,
  text,
} from '@clack/prompts';
import { styleText } from 'node:util';
import { withoutControls } from '../text/controls.ts';
import { oneLine } from './shorten.ts';

export interface Choice {
  readonly value: string;
  readonly hint?: string;
}

/** A row of a list with columns. */
export interface Row {
  readonly value: string;
  /** One line. */
  readonly label: string;
  /** Shown, but cannot be chosen. */
  readonly disabled?: boolean;
  /** Cannot be chosen together with others. */
  readonly alone?: boolean;
}

/** Lets the user choose from a list. Returns null if cancelled. */
export const ask = async (message: string, choices: readonly Choice[]): Promise<string | null> => {
  const options = choices.map(optionOf);
  const chosen = await select({ message: oneLine(message), options, maxItems: 12, output: process.stderr });
  return isCancel(chosen) ? null : chosen;
};

/** What surrounds the label of a row. */
export const rowIndent = 5;

/**
 * Lets the user choose one or more rows: Enter takes those that are ticked, or the highlighted one. Returns null if
 * cancelled. At least one row can be chosen.
 */
export const askSeveral = async (message: string, rows: readonly Row[]): Promise<string[] | null> => {
  const prompt = new MultiSelectPrompt({
    options: rows.map((row) => ({ ...row, label: withoutControls(row.label), disabled: row.disabled ?? false })),
    required: false,
    output: process.stderr,
    render() {
      const ticked = this.value ?? [];
      const title = `${styleText('gray', S_BAR)}\n${symbol(this.state)}  ${oneLine(message)}\n`;
      if (this.state === 'cancel') return `${title}${styleText('gray', S_BAR)}`;
      if (this.state === 'submit') {
        const taken = this.options.filter(({ value }) => ticked.includes(value)).map(({ value }) => oneLine(value));
        return `${title}${styleText('gray', S_BAR)}  ${styleText('dim', taken.join(', '))}`;
      }
      const lines = limitOptions({
        options: this.options,
        cursor: this.cursor,
        maxItems: 12,
        output: process.stderr,
        columnPadding: 1,
        rowPadding: 5,
        style: (row, isHighlighted) =>
          // Without colours, only the pointer shows which row it is.
          `${isHighlighted ? '>' : ' '} ${rowText(row, { isHighlighted, isTicked: ticked.includes(row.value) })}`,
      });
      const shown = lines
        .map((line) => `${styleText('cyan', S_BAR)}${line.startsWith('>') || line.startsWith(' ') ? '' : '  '}${line}`)
        .join('\n');
      return `${title}${shown}\n${styleText('cyan', S_BAR_END)}  ${styleText('dim', keys)}\n`;
    },
  });
  keepAlone(prompt);
  prompt.on('finalize', () => {
    const highlighted = prompt.options[prompt.cursor];
    if (prompt.state === 'submit' && (prompt.value ?? []).length === 0 && highlighted)
      prompt.value = [highlighted.value];
  });
  const chosen = await prompt.prompt();
  return isCancel(chosen) || chosen === undefined ? null : chosen;
};

/** Unticks the others if a row that is chosen alone is ticked, and that row if another one is. */
const keepAlone = (prompt: MultiSelectPrompt<Row>): void => {
  const isAlone = (value: string) => prompt.options.some((row) => row.alone && row.value === value);
  const together = prompt.options.filter((row) => !row.alone && !row.disabled).length;
  let wereAllTicked = false;
  prompt.on('key', (_, { name }) => {
    const ticked = prompt.value ?? [];
    const others = ticked.filter((value) => !isAlone(value));
    if (name === 'a' && wereAllTicked) prompt.value = [];
    else if (others.length < ticked.length && ticked.length > 1)
      prompt.value = name === 'space' && prompt.options[prompt.cursor]?.alone ? ticked.filter(isAlone) : others;
    wereAllTicked = (prompt.value ?? []).length === together;
  });
};

const keys = 'Enter: run it · Space: select several · a: all';

const rowText = (
  { label, disabled }: Pick<Row, 'label' | 'disabled'>,
  { isHighlighted, isTicked }: { readonly isHighlighted: boolean; readonly isTicked: boolean },
): string => {
  if (disabled) return styleText('gray', `${S_CHECKBOX_INACTIVE} ${label}`);
  if (isTicked) return `${styleText('green', S_CHECKBOX_SELECTED)} ${isHighlighted ? label : styleText('dim', label)}`;
  if (isHighlighted) return `${styleText('cyan', S_CHECKBOX_ACTIVE)} ${label}`;
  return `${styleText('dim', S_CHECKBOX_INACTIVE)} ${styleText('dim', label)}`;
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
  initialValue = '',
): Promise<string | null> => {
  const answer = await text({
    message: oneLine(message),
    initialValue,
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
