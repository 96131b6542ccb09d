import { MultiSelectPrompt } from '@clack/core';
import { confirm as askYesOrNo, isCancel, S_BAR, select, symbol, text } from '@clack/prompts';
import { styleText } from 'node:util';
import { withoutControls } from '../text/controls.ts';
import { type ListRow, renderChoices } from './choice-list.ts';
import { oneLine } from './shorten.ts';

export interface Choice {
  readonly value: string;
  readonly hint?: string;
}

/** A row of a list with columns. */
export interface Row extends ListRow {
  /** Cannot be chosen together with others. */
  readonly alone?: boolean;
}

/** Lets the user choose from a list. Returns null if cancelled. */
export const ask = async (message: string, choices: readonly Choice[]): Promise<string | null> => {
  const options = choices.map(optionOf);
  const chosen = await select({ message: oneLine(message), options, maxItems: 12, output: process.stderr });
  return isCancel(chosen) ? null : chosen;
};

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
      const { columns = 80, rows: height = 24 } = process.stderr;
      const list = { symbol: symbol(this.state), title: oneLine(message), rows: this.options, ticked };
      return renderChoices({ ...list, cursor: this.cursor }, { columns, height }).join('\n');
    },
  });
  keepAlone(prompt);
  const stopErasing = eraseOnResize(prompt);
  prompt.on('finalize', () => {
    const highlighted = prompt.options[prompt.cursor];
    if (prompt.state === 'submit' && (prompt.value ?? []).length === 0 && highlighted)
      prompt.value = [highlighted.value];
  });
  const chosen = await prompt.prompt().finally(stopErasing);
  return isCancel(chosen) || chosen === undefined ? null : chosen;
};

/**
 * Erases the list when the window is resized, before the library draws it again. The library compares it with what it has
 * drawn before, line by line, but the terminal may have wrapped those lines again.
 */
const eraseOnResize = (prompt: MultiSelectPrompt<Row>): (() => void) => {
  const drawn = prompt as unknown as { restoreCursor(): void };
  const erase = () => {
    drawn.restoreCursor();
    process.stderr.write('\u001b[J');
    Reflect.set(drawn, '_prevFrame', '');
  };
  process.stderr.prependListener('resize', erase);
  return () => void process.stderr.off('resize', erase);
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
