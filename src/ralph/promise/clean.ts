/** Removes terminal codes and zero-width characters, and normalises line endings to "\n". */
export const cleanText = (text: string): string =>
  text
    .replaceAll(terminalCodes, '')
    .replaceAll(/\r*\n|\r+|[\u2028\u2029]/g, '\n')
    .replaceAll(/[\u200b\u200e\u200f\u2060\ufeff]/g, '');

/** Titles and links (OSC), colors and cursor moves (CSI), and codes of two or three characters, even if truncated. */
const terminalCodes = /\u001b(?:\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-Z\\^-~]?)/g;
