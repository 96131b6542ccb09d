/** Text as it is read: without terminal codes and characters of no width, with lines that end at "\n". */
export const cleanText = (text: string): string =>
  text
    .replaceAll(terminalCodes, '')
    .replaceAll(/\r*\n|\r+|[\u2028\u2029]/g, '\n')
    .replaceAll(/[\u200b\u200e\u200f\u2060\ufeff]/g, '');

/** Titles and links (OSC), colours and cursor moves (CSI), and codes of two or three characters; also cut off. */
const terminalCodes = /\u001b(?:\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-Z\\^-~]?)/g;
