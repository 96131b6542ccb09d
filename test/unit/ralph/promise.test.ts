import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPromiseDetector } from '../../../src/ralph/promise.ts';
import { chunkSizes, cut } from '../chunks.ts';

const tag = '<promise>COMPLETE</promise>';

/** Whether the chunks, as one whole message, hold the promise. */
const counts = (chunks: readonly string[], promise = 'COMPLETE'): boolean => {
  const detector = createPromiseDetector(promise);
  for (const chunk of chunks) detector.feed(chunk);
  detector.endMessage();
  return detector.found;
};

describe('texts that count', () => {
  test.each([
    ['the tag alone', tag],
    ['a line of its own', `All tests pass.\n${tag}\n`],
    ['text on later lines', `${tag}\nGood night.`],
    ['a sentence before it', `All tests pass. ${tag}`],
    ['an exclamation before it', `Done! **${tag}**`],
    ['blanks inside', '<promise>  COMPLETE\t</promise>'],
    ['newlines inside', '<promise>\nCOMPLETE\n</promise>'],
    ['CRLF inside', '<promise>\r\nCOMPLETE\r\n</promise>\r\n'],
    ['rare white space inside', '<promise>\u3000COMPLETE\f</promise>'],
    ['CRLF behind it', `${tag}\r\nmore`],
    ['blanks behind it', `${tag} \t\n`],
    ['three blanks before it, which are no code yet', `Done.\n   ${tag}`],
    ['bold', `**${tag}**`],
    ['italics', `_${tag}_ \n`],
    ['colours around it', `\u001b[1;32m${tag}\u001b[0m\n`],
    ['colours inside it', '<promise>\u001b[1mCOMP\u001b[0mLETE</pro\u001b[22mmise>'],
    ['a link inside it', '<promise>\u001b]8;;https://example.org\u001b\\COMPLETE\u001b]8;;\u0007</promise>'],
    ['the reset of "tput sgr0" behind it', `${tag}\u001b(B\u001b[m`],
    ['a title that was never finished above it', `\u001b]0;title\n${tag}`],
    ['a second tag that is good', `<promise>SOON</promise> is over.\n${tag}`],
    ['behind a closed fence', `\`\`\`sh\nnpm test\n\`\`\`\n${tag}`],
    ['behind a closed fence of tildes', `~~~\n\`\`\`\n~~~\n${tag}`],
    ['behind a fence with a longer end', `\`\`\`\ncode\n\`\`\`\`\`  \n${tag}`],
    ['behind a fence in a list', `1. \`\`\`sh\n   npm test\n   \`\`\`\n${tag}`],
    ['behind a fence with CRLF', `\`\`\`\r\ncode\r\n\`\`\`\r\n${tag}\r\n`],
    ['behind inline code of three backticks', `\`\`\`npm test\`\`\` passes\n${tag}`],
    ['behind inline code', `\`npm test\` passes. ${tag}`],
  ])('%s', (_, text) => {
    expect(counts([text])).toBe(true);
  });
});

describe('texts that do not count', () => {
  test.each([
    ['a numbered item', `3. ${tag}`],
    ['a list item', `- ${tag}`],
    ['an added line of a diff', `+${tag}`],
    ['a removed line of a diff', `-${tag}`],
    ['a heading', `## ${tag}`],
    ['behind an abbreviation', `I will print, e.g. ${tag}`],
    ['behind dots', `In the end I will print ... ${tag}`],
    ['behind an ellipsis', `Then I print… ${tag}`],
    ['behind a question', `Shall I print this now? ${tag}`],
    ['a quotation in a list', `- > ${tag}`],
    ['nothing', ''],
    ['the bare word', 'COMPLETE'],
    ['no closing tag', '<promise>COMPLETE'],
    ['no opening tag', 'COMPLETE</promise>'],
    ['two opening tags', '<promise>COMPLETE<promise>'],
    ['the wrong case of the word', '<promise>complete</promise>'],
    ['the wrong case of the tag', '<PROMISE>COMPLETE</PROMISE>'],
    ['another word', '<promise>DONE</promise>'],
    ['a longer word', '<promise>COMPLETED</promise>'],
    ['a shorter word', '<promise>COMPLET</promise>'],
    ['a word before the word', '<promise>NOT COMPLETE</promise>'],
    ['no word', '<promise></promise>'],
    ['a broken word', '<promise>COMP\nLETE</promise>'],
    ['a blank in the tag', '< promise>COMPLETE</promise>'],
    ['inline code that ends on the next line', `\`${tag}\n\``],
    ['a quotation', `You asked for:\n> ${tag}`],
    ['indented code', `When it is finished I print:\n\n    ${tag}\n\nNot yet.`],
    ['code that is indented by a tab', `\t${tag}`],
    ['words before it', `I am not done, so I will not print ${tag}`],
    ['an announcement', `When all is done I will print: ${tag}`],
    ['an opening tag that is begun anew', '<promise>COMPLETE<promise>COMPLETE</promise>'],
    ['a doubled bracket', '<<promise>COMPLETE</promise>'],
    ['words behind it', `${tag} is what I will print`],
    ['words behind it, with colours between', `${tag}\u001b[0m is what I will print`],
    ['a bad tag behind it', `${tag} <promise>SOON</promise>`],
    ['quotes', `"${tag}"`],
    ['inline code', `I will print \`${tag}\`.`],
    ['inline code at the end of a line', `\`${tag}\`\n`],
    ['inline code of two backticks', `\`\` ${tag} \`\``],
    ['inline code of three backticks', `\`\`\`${tag}\`\`\``],
    ['a fence', `\`\`\`\n${tag}\n\`\`\``],
    ['a fence with a language', `\`\`\`xml\n${tag}\n\`\`\`\n`],
    ['a fence of tildes', `~~~\n${tag}\n~~~`],
    ['a fence with CRLF', `\`\`\`\r\n${tag}\r\n\`\`\`\r\n`],
    ['a fence with colours', `\u001b[2m\`\`\`\u001b[0m\n${tag}\n\`\`\``],
    ['the line that opens a fence', `~~~ ${tag}\ncode\n~~~`],
    ['a shorter fence in a fence', `\`\`\`\`md\n\`\`\`\n${tag}\n\`\`\`\n\`\`\`\``],
    ['another fence in a fence', `~~~\n\`\`\`\n~~\n${tag}\n~~~`],
    ['a fence that words do not end', `\`\`\`\n\`\`\` sh\n${tag}\n\`\`\``],
    ['a fence in a list', `- \`\`\`\n  ${tag}\n  \`\`\``],
    ['a fence in a numbered list', `1. \`\`\`\n   ${tag}\n   \`\`\``],
    ['a fence in a quote', `> \`\`\`\n> ${tag}\n> \`\`\``],
    ['a fence that is never closed', `\`\`\`\n${tag}\n`],
    ['a tag that runs into a fence', '<promise>\n```\nCOMPLETE</promise>\n```'],
    ['the title of a terminal', `\u001b]0;${tag}\u0007`],
    ['the title of a terminal, behind words', `Done.\u001b]0;${tag}\u001b\\\n`],
  ])('%s', (_, text) => {
    expect(counts([text])).toBe(false);
  });
});

describe('a promise of several words', () => {
  test.each([
    ['as it is', '<promise>ALL TASKS DONE</promise>', true],
    ['with newlines around it', '<promise>\nALL TASKS DONE\n</promise>', true],
    ['with a newline in it', '<promise>ALL TASKS\nDONE</promise>', false],
    ['with more blanks in it', '<promise>ALL  TASKS DONE</promise>', false],
    ['in part', '<promise>ALL TASKS</promise>', false],
  ])('%s', (_, text, expected) => {
    expect(counts([text], ' ALL TASKS DONE ')).toBe(expected);
  });
});

test('characters that mean something in a pattern are literal', () => {
  expect(counts(['<promise>D.NE+ (1/2)</promise>'], 'D.NE+ (1/2)')).toBe(true);
  expect(counts(['<promise>DONE</promise>'], 'D.NE')).toBe(false);
});

describe('the end of a message', () => {
  test('words may still follow until the line or the message ends', () => {
    const detector = createPromiseDetector('COMPLETE');
    detector.feed(tag);
    expect(detector.found).toBe(false);
    detector.feed('\n');
    expect(detector.found).toBe(true);
  });

  test.each([
    ['closes a fence', ['```\ncode', tag], true],
    ['ends a line', [tag, 'is what I will print'], true],
    ['ends a colour code', ['\u001b[', tag], true],
    ['ends a tag', ['<promise>COMP', 'LETE</promise>'], false],
    ['does not take back that a tag was in a fence', [`\`\`\`\n${tag}`, '```'], false],
  ])('%s', (_, messages, expected) => {
    const detector = createPromiseDetector('COMPLETE');
    for (const message of messages) {
      detector.feed(message);
      detector.endMessage();
    }
    expect(detector.found).toBe(expected);
  });
});

test.each([
  ['dots', '.'],
  ['blanks', ' '],
  ['digits', '7'],
  ['words', 'word '],
  ['inline code', '`x` '],
  ['brackets', '<'],
])('a line of two million %s does not keep it from what follows', (_, piece) => {
  // A search that looks back for each character would be at it for hours.
  expect(counts([`\n${piece.repeat(2_000_000)}`, `\n${tag}\n`])).toBe(true);
});

describe('properties', () => {
  const fences = ['```\n', '````\n', '~~~\n', '`'];
  const words = [' ', '\n   ', '\n    ', '\t', '**', '- ', '> ', '12. ', '...', 'done', 'two words\nand more'];
  const tags = ['<promise>\nCOMPLETE ', '<promise>', 'COMPLETE', '</promise>', '<', '<promise>DONE</promise>'];
  const colours = ['\u001b[1m', '\u001b[0;38;5;208m', '\u001b]0;title\u0007', '\u001b]8;;x\u001b\\'];
  const cutOff = ['\u001b', '\u001b[', '\u001b]0;'];
  const piecesOf = (...kinds: string[][]) =>
    fc.array(fc.oneof(...kinds.map((kind) => fc.constantFrom(...kind))), { maxLength: 12 });
  const text = [[tag], ['\n', '\r\n', '\n\n'], fences, words, tags];
  const anyPieces = piecesOf(...text, [...colours, ...cutOff]);

  test('the outputs are of both kinds', () => {
    const verdicts = fc.sample(anyPieces, { numRuns: 1000, seed: 1 }).map((pieces) => counts([pieces.join('')]));
    expect(verdicts.filter(Boolean).length).toBeGreaterThan(50);
    expect(verdicts.filter((verdict) => !verdict).length).toBeGreaterThan(50);
  });

  test('chunks do not matter', () => {
    fc.assert(
      fc.property(anyPieces, chunkSizes, (pieces, sizes) => {
        const whole = pieces.join('');
        expect(counts(pieces)).toBe(counts([whole]));
        expect(counts(cut(whole, sizes))).toBe(counts([whole]));
      }),
      { numRuns: 5000 },
    );
  });

  test('colours do not matter, wherever they stand', () => {
    fc.assert(
      fc.property(piecesOf(...text), chunkSizes, fc.constantFrom(...colours), (pieces, sizes, colour) => {
        const whole = pieces.join('');
        expect(counts([cut(whole, sizes).join(colour)])).toBe(counts([whole]));
      }),
      { numRuns: 2000 },
    );
  });

  test('a text without "<promise>" never counts', () => {
    const nearTags = ['<promise', 'promise>', '<Promise>', '< promise>', '>', 'COMPLETE', '</promise>'];
    fc.assert(
      fc.property(fc.oneof(piecesOf(nearTags, ['\n'], fences, words), fc.array(fc.string())), (pieces) => {
        const whole = pieces.join('');
        fc.pre(!whole.includes('<promise>'));
        expect(counts([whole])).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});
