import { stripVTControlCharacters } from 'node:util';

/** Removes control characters, so that foreign text cannot move the cursor, set the clipboard or title, or reorder text. */
export const withoutControls = (text: string): string => {
  if (text === lastClean) return text;
  const clean = holdsControls(text) ? stripVTControlCharacters(text).replaceAll(anyControl, '') : text;
  if (clean.length > longText) lastClean = clean;
  return clean;
};

/** A text passes here several times on its way to a terminal, and scanning a long one is slow. */
const longText = 1000;
let lastClean = '';

/** 7-bit controls, except tab and newline. */
const controls = [
  ...Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).filter((char) => !'\t\n'.includes(char)),
  '\u007f',
];

/** 8-bit controls, and bidirectional controls, which can show text in a different order. */
const beyondAscii = String.raw`\u0080-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`;
const controlsBeyondAscii = new RegExp(`[${beyondAscii}]`);
const anyControl = new RegExp(`[${controls.join('')}${beyondAscii}]`, 'g');

/** Regular expression source that matches any control character. */
export const controlPattern = String.raw`[\x00-\x08\x0b-\x1f\x7f${beyondAscii}]`;

/** Ten times faster than one pattern for all of them. */
const holdsControls = (text: string): boolean => {
  const isAscii = Buffer.byteLength(text) === text.length;
  return controls.some((char) => text.includes(char)) || (!isAscii && controlsBeyondAscii.test(text));
};

/** Like `JSON.stringify`, but also escapes the control characters that it leaves unescaped. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(
    unescaped,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const unescaped = new RegExp(String.raw`[\u007f${beyondAscii}]`, 'g');
