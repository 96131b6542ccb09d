import { S_BAR, S_BAR_END, S_CHECKBOX_ACTIVE, S_CHECKBOX_INACTIVE, S_CHECKBOX_SELECTED } from '@clack/prompts';
import { styleText } from 'node:util';
import { truncate } from './shorten.ts';

export interface ListRow {
  readonly value: string;
  /** One line, without control characters. */
  readonly label: string;
  /** Shown, but cannot be chosen. */
  readonly disabled?: boolean;
}

export interface ChoiceList {
  /** The symbol before the title. */
  readonly symbol: string;
  readonly title: string;
  readonly rows: readonly ListRow[];
  /** The index of the highlighted row. */
  readonly cursor: number;
  readonly ticked: readonly string[];
}

interface Window {
  readonly columns: number;
  readonly height: number;
}

/** What surrounds the label of a row. */
export const rowIndent = 5;

const maxRows = 12;

/**
 * Renders a list for choosing rows: no more lines than the window has, none of them wider. In a small window the keys are
 * left out first, then the bar and the title. The highlighted row is always there.
 */
export const renderChoices = (list: ChoiceList, { columns, height }: Window): string[] => {
  const fit = (text: string, indent: number) => truncate(text, Math.max(1, columns - 1 - indent), '…');
  // The last line is empty: the cursor stands there.
  const foot = height < 6 ? [] : [`${styleText('cyan', S_BAR_END)}  ${styleText('dim', fit(keys, 3))}`, ''];
  const bar = height < 4 ? [] : [styleText('gray', S_BAR)];
  const title = height < 2 ? [] : [`${list.symbol}  ${fit(list.title, 3)}`];
  const room = Math.max(1, height - foot.length - bar.length - title.length);
  const rows = around(list, Math.min(room, maxRows)).map((index) => {
    if (index === null) return `${styleText('cyan', S_BAR)}  ${styleText('dim', '...')}`;
    const row = list.rows[index]!;
    const state = { isHighlighted: index === list.cursor, isTicked: list.ticked.includes(row.value) };
    // Without colors, only the pointer shows which row it is.
    const pointer = state.isHighlighted ? '>' : ' ';
    return `${styleText('cyan', S_BAR)}${pointer} ${rowText({ ...row, label: fit(row.label, rowIndent) }, state)}`;
  });
  return [...bar, ...title, ...rows, ...foot];
};

const keys = 'Enter: run it · Space: select several · a: all';

/** The indexes of the rows that are shown, with null where others are left out, if there is room to say so. */
const around = ({ rows, cursor }: ChoiceList, room: number): (number | null)[] => {
  const count = Math.min(room, rows.length);
  const first = Math.max(0, Math.min(cursor - Math.floor(count / 2), rows.length - count));
  const last = first + count - 1;
  return Array.from({ length: count }, (_, offset) => {
    const index = first + offset;
    const isCut = (index === first && first > 0) || (index === last && last < rows.length - 1);
    return isCut && count >= 3 && index !== cursor ? null : index;
  });
};

const rowText = (
  { label, disabled }: ListRow,
  { isHighlighted, isTicked }: { readonly isHighlighted: boolean; readonly isTicked: boolean },
): string => {
  if (disabled) return styleText('gray', `${S_CHECKBOX_INACTIVE} ${label}`);
  if (isTicked) return `${styleText('green', S_CHECKBOX_SELECTED)} ${isHighlighted ? label : styleText('dim', label)}`;
  if (isHighlighted) return `${styleText('cyan', S_CHECKBOX_ACTIVE)} ${label}`;
  return `${styleText('dim', S_CHECKBOX_INACTIVE)} ${styleText('dim', label)}`;
};
