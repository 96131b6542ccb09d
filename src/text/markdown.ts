/*
 * Text from outside in Markdown that GitHub shows. Nothing in it becomes structure, a link, HTML or a formula, and it
 * mentions neither people nor issues: GitHub looks for those in the result, where a character without width stands
 * between the sign and the name.
 */

/** One line of text, for a sentence, a list or a cell of a table. */
export const markdownText = (text: string): string =>
  withoutStructure(text)
    .replaceAll(/@|(?<!&)#/g, `$&${noWidth}`)
    .replaceAll(/\bgh-(?=\d)/gi, `$&${noWidth}`)
    .replace(/^(?:[-+=]|\d{1,9}(?=[.)]))/, `$&${noWidth}`);

/** The same as code, so that every character can be copied. GitHub finds no mentions in code. */
export const markdownCode = (text: string): string =>
  text.trim() === '' ? '' : `<code>${withoutStructure(text)}</code>`;

const withoutStructure = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[&<>|$]/g, entity)
    .replaceAll(/[\\`*_[\]~^]/g, String.raw`\$&`)
    .replaceAll(/:(?=\/\/)|\bw(?=ww\.)/gi, entity);

const entity = (sign: string): string => `&#${sign.charCodeAt(0)};`;

/** U+200B as an entity, so that it is visible in the source. */
const noWidth = entity('\u200b');
