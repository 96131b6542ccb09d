import { stripVTControlCharacters } from 'node:util';

/**
 * Removes control characters, so that foreign text cannot move the cursor, set the clipboard or title, or reorder text.
 */
export const withoutControls = (text: string): string => {
  if (text === last.clean) return text;
  const ascii = isAscii(text);
  const holdsControls = hasAsciiControls(text) || (!ascii && controlsBeyondAscii.test(text));
  const clean = holdsControls ? stripVTControlCharacters(text).replaceAll(anyControl, '') : text;
  if (clean.length > longText) last = { clean, isAscii: ascii };
  return clean;
};

/** The encoding in which a text from `withoutControls` is written fastest. Both write the same bytes. */
export const fastEncoding = (text: string): 'latin1' | 'utf8' =>
  (text === last.clean ? last.isAscii : isAscii(text)) ? 'latin1' : 'utf8';

/** A text passes here several times on its way to a terminal, and scanning a long one is slow. */
const longText = 1000;
let last = { clean: '', isAscii: true };

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

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

/** Faster than a pattern. */
const hasAsciiControls = (text: string): boolean => controls.some((char) => text.includes(char));

/** Like `JSON.stringify`, but also escapes the control characters that it leaves unescaped. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(
    unescaped,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const unescaped = new RegExp(String.raw`[\u007f${beyondAscii}]`, 'g');
