import { stripVTControlCharacters } from 'node:util';

/** What others wrote must not move the cursor, set the clipboard, change the title or turn the text of a terminal around. */
export const withoutControls = (text: string): string => {
  if (text === lastClean) return text;
  const clean = holdsControls(text) ? stripVTControlCharacters(text).replaceAll(anyControl, '') : text;
  if (clean.length > longText) lastClean = clean;
  return clean;
};

/** A text comes by here several times on its way to a terminal, and looking at a long one takes a while. */
const longText = 1000;
let lastClean = '';

/** Controls of seven bits, but for the tab and the end of a line. */
const controls = [
  ...Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).filter((char) => !'\t\n'.includes(char)),
  '\u007f',
];

/** Controls of eight bits, and those that set the direction of text: they can show it in another order than it has. */
const beyondAscii = String.raw`\u0080-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`;
const controlsBeyondAscii = new RegExp(`[${beyondAscii}]`);
const anyControl = new RegExp(`[${controls.join('')}${beyondAscii}]`, 'g');

/** The source of a pattern for each of them. */
export const controlPattern = String.raw`[\x00-\x08\x0b-\x1f\x7f${beyondAscii}]`;

/** Looking for each of them takes a tenth of the time of a pattern for all. */
const holdsControls = (text: string): boolean => {
  const isAscii = Buffer.byteLength(text) === text.length;
  return controls.some((char) => text.includes(char)) || (!isAscii && controlsBeyondAscii.test(text));
};

/** JSON in which what a terminal acts upon is escaped; `JSON.stringify` leaves some of it as it is. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(
    unescaped,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const unescaped = new RegExp(String.raw`[\u007f${beyondAscii}]`, 'g');
