import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/ralph/agent-events.ts';
import { observeIteration } from '../../../src/ralph/observe-iteration.ts';
import { chunksOf, chunkSizes } from '../chunks.ts';
import {
  counts,
  nearMisses,
  nothingAtAll,
  recordedCounts,
  recordedOthers,
  recordedTalk,
  tag,
  talk,
} from './promise.rows.ts';

const message = (text: string): AgentEvent => ({ type: 'text', text, plain: false });
const plain = (text: string): AgentEvent => ({ type: 'text', text, plain: true });
const tool: AgentEvent = { type: 'tool', tool: 'bash', title: 'npm test' };

const judge = (events: readonly AgentEvent[], completionPromise = 'COMPLETE') => {
  const watch = observeIteration({ completionPromise, blockedPromise: 'BLOCKED' }, 'Do it.');
  for (const event of events) watch.observe(event);
  const { completionFound, rejected, mentions, evidence, blocked } = watch.judge({
    end: 'exited',
    exitCode: 0,
    signal: null,
    problem: null,
  });
  return { completionFound, rejected, mentions, evidence, blocked };
};

/** The hint about trailers is only given for plain output, in which a line may come from the agent CLI. */
const judgePlain = (texts: readonly string[], promise: string) => {
  const { rejected, mentions, ...verdict } = judge(texts.map(plain), promise);
  const bare = (why: string) => why.replace(/ \(if its CLI printed that, .*\)$/, '');
  return {
    ...verdict,
    rejected: rejected && bare(rejected),
    mentions: mentions.map((mention) => ({ ...mention, why: bare(mention.why) })),
  };
};

/** Judges the text as a message, as plain text, and as plain text in all chunks. Returns the verdict. */
const judgeInEveryForm = (text: string, promise = 'COMPLETE') => {
  const verdict = judge([message(text)], promise);
  expect(judgePlain([text], promise)).toEqual(verdict);
  expect(judgePlain(text.split(''), promise)).toEqual(verdict);
  for (let at = 1; at < text.length; at++)
    expect(judgePlain([text.slice(0, at), text.slice(at)], promise)).toEqual(verdict);
  return verdict;
};

describe('endings that are the promise', () => {
  test.each(counts)('%s', (_, text) => {
    expect(judgeInEveryForm(text)).toMatchObject({ completionFound: true, rejected: null });
  });
});

describe('endings that only mention the promise', () => {
  test.each(talk)('%s', (_, text, why) => {
    expect(judgeInEveryForm(text)).toMatchObject({ completionFound: false, rejected: why });
  });
});

describe('recorded endings that are the promise', () => {
  test.each(recordedCounts)('%s', (_, text) => {
    expect(judgeInEveryForm(text)).toMatchObject({ completionFound: true, rejected: null });
  });
});

describe('recorded endings that are not the promise', () => {
  test.each(recordedTalk)('%s', (_, text, why) => {
    expect(judgeInEveryForm(text)).toMatchObject({ completionFound: false, rejected: why });
  });
});

describe('near misses', () => {
  test.each(nearMisses.map(([name, text, why, promise = 'COMPLETE']) => [name, text, why, promise] as const))(
    '%s',
    (_, text, why, promise) => {
      expect(judgeInEveryForm(text, promise)).toMatchObject({ completionFound: false, rejected: why });
    },
  );
});

describe('endings without the promise', () => {
  test.each([...nothingAtAll, ...recordedOthers])('%s', (_, text) => {
    expect(judgeInEveryForm(text)).toMatchObject({ completionFound: false, rejected: null, mentions: [] });
  });
});

describe('the text of the promise', () => {
  test.each([
    ['several words', ' ALL TASKS DONE ', '<promise>\nALL TASKS DONE\n</promise>', true],
    ['one of several words', 'ALL TASKS DONE', '<promise>ALL TASKS</promise>', false],
    ['regular expression characters', 'D.NE+ (1/2)', '<promise>D.NE+ (1/2)</promise>', true],
    ['a pattern', 'D.NE', '<promise>DONE</promise>', false],
    ['emphasis', '**DONE**', '<promise>**DONE**</promise>', true],
    ['a fence', '```', '<promise>```</promise>', true],
    ['an emoji', '🎉', 'Done.\n\n<promise>🎉</promise>', true],
    ['another emoji', '🎉', 'Done.\n\n<promise>✅</promise>', false],
  ])('can be %s', (_, promise, text, expected) => {
    expect(judgeInEveryForm(text, promise).completionFound).toBe(expected);
  });
});

describe('several messages', () => {
  test.each<[string, AgentEvent[], boolean]>([
    ['a closing phrase in a second part', [message(tag), message('Let me know if you need anything else!')], false],
    [
      'a closing phrase after a tool call',
      [message(tag), tool, message('Let me know if you need anything else!')],
      false,
    ],
    ['a check mark in a second part', [message(tag), message('✅')], true],
    ['an announcement in the part before', [message('When all is done I will print:'), message(tag)], false],
    [
      'an announcement before a tool call',
      [message('When all is done I will print the promise:'), tool, message(tag)],
      true,
    ],
    ['a promise in the part before', [message(`Done.\n${tag}`), message(`All is well.\n${tag}`)], true],
    ['a tool call after it', [message(tag), tool], true],
    ['empty turns after it', [message(tag), message(''), message(' \n'), tool, message('')], true],
    ['an invisible turn after a tool call', [message(tag), tool, message('\u200b')], true],
    ['a check mark after a tool call', [message(tag), tool, message('✅')], true],
    ['a full stop after a tool call', [message(tag), tool, message('.')], true],
    ['a cross after a tool call', [message(tag), tool, message('❌')], false],
    [
      'text after a check mark after a tool call',
      [message(tag), tool, message('✅'), message('One test fails.')],
      false,
    ],
  ])('%s', (_, events, expected) => {
    expect(judge(events).completionFound).toBe(expected);
  });

  test('an earlier promise is a mention with a reason', () => {
    expect(judge([message(tag), tool, message('I look again.'), tool, message('Two tests fail.')])).toMatchObject({
      completionFound: false,
      rejected: 'the agent had more to say after it',
      mentions: [{ words: tag, why: 'the agent had more to say after it' }],
    });
  });
});

describe('long outputs', () => {
  const filler = 'The agent says something about what it does.\n';

  test.each([
    ['dots', '.'],
    ['spaces', ' '],
    ['digits', '7'],
    ['words', 'word '],
    ['inline code', '`x` '],
    ['brackets', '<'],
    ['quote marks', '> '],
    ['dashes', '-'],
    ['unclosed tags', '<promise>'],
    ['tags', `${tag} and `],
    ['fences', '```'],
  ])('a line with two million %s does not hide what follows', (_, piece) => {
    const line = piece.repeat(2_000_000 / piece.length);
    expect(judge([plain(`\n${line}`), plain(`\nDone.\n\n${tag}\n`)]).completionFound).toBe(true);
    expect(judge([plain(`\n${line}`), plain(`${tag} no\n`)]).completionFound).toBe(false);
  });

  test('tags in every line are mentions, of which the last ten are kept, in any chunks', () => {
    const text = Array.from({ length: 3000 }, (_, line) => `${filler}${line}: I will print ${tag} soon.\n`).join('');
    const whole = judge([plain(text)]);
    expect(whole.mentions).toHaveLength(10);
    expect(whole.mentions[9]!.words).toMatch(/2999: I will print <promise>COMPLETE<\/promise>$/);
    for (const size of [7, 1000, 16_384, 50_000]) expect(judge(chunksOf(text, [size]).map(plain))).toEqual(whole);
  });

  test('the end of a fence that opened far above is still detected', () => {
    const text = `\`\`\`\n${filler.repeat(1000)}\n${tag}\n\`\`\`\n`;
    for (const size of [1000, text.length])
      expect(judge(chunksOf(text, [size]).map(plain))).toMatchObject({
        completionFound: false,
        rejected: 'it was quoted as code',
      });
  });

  test('a tag long before the end is a mention', () => {
    const text = `I will print ${tag} soon.\n${filler.repeat(10_000)}`;
    for (const size of [1000, 16_384, text.length])
      expect(judge(chunksOf(text, [size]).map(plain))).toMatchObject({
        completionFound: false,
        rejected: 'it was in the middle of a sentence',
        mentions: [{ words: `I will print ${tag}` }],
      });
  });
});

describe('properties', () => {
  const words = [
    ' ',
    '\n   ',
    '\n    ',
    '\t',
    '**',
    '- ',
    '> ',
    '12. ',
    '...',
    'done',
    'two words\nand more',
    ':',
    '`',
  ];
  const tags = [tag, '<promise>\nCOMPLETE ', '<promise>', 'COMPLETE', '</promise>', '<', '<promise>DONE</promise>'];
  const fences = ['```\n', '````\n', '~~~\n', '```xml\n'];
  const colors = ['\u001b[1m', '\u001b[0;38;5;208m', '\u001b]0;title\u0007', '\u001b]8;;x\u001b\\'];
  const newlines = ['\n', '\r\n', '\n\n'];
  const piecesOf = (...kinds: string[][]) =>
    fc.array(fc.oneof(...kinds.map((kind) => fc.constantFrom(...kind))), { maxLength: 12 });
  const text = [tags, [tag], newlines, fences, words];

  test('the generated outputs are of both kinds', () => {
    const verdicts = fc
      .sample(piecesOf(...text), { numRuns: 1000, seed: 1 })
      .map((pieces) => judge([message(pieces.join(''))]).completionFound);
    expect(verdicts.filter(Boolean).length).toBeGreaterThan(50);
    expect(verdicts.filter((verdict) => !verdict).length).toBeGreaterThan(50);
  });

  test('chunks do not matter', () => {
    fc.assert(
      fc.property(piecesOf(...text, [...colors, '\u001b', '\u001b[']), chunkSizes, (pieces, sizes) => {
        const whole = pieces.join('');
        expect(judge(pieces.map(plain))).toEqual(judge([plain(whole)]));
        expect(judge(chunksOf(whole, sizes).map(plain))).toEqual(judge([plain(whole)]));
      }),
      { numRuns: 1500 },
    );
  });

  test('colors do not matter at any position', () => {
    fc.assert(
      fc.property(piecesOf(...text), chunkSizes, fc.constantFrom(...colors), (pieces, sizes, color) => {
        const whole = pieces.join('');
        fc.pre(!whole.includes('\r'));
        expect(judge([message(chunksOf(whole, sizes).join(color))])).toEqual(judge([message(whole)]));
      }),
      { numRuns: 800 },
    );
  });

  test('text without the tag never counts', () => {
    const nearTags = ['<promise', 'promise>', '<Promise>', '< promise>', '>', 'COMPLETE', '</promise>'];
    fc.assert(
      fc.property(fc.oneof(piecesOf(nearTags, newlines, fences, words), fc.array(fc.string())), (pieces) => {
        const whole = pieces.join('');
        fc.pre(!whole.includes('<promise>'));
        expect(judge([message(whole)]).completionFound).toBe(false);
      }),
      { numRuns: 800 },
    );
  });

  const before = fc.constantFrom('', '# ', '### ', '- ', '* ', '+ ', '1. ', '> ', '> - ', '✅ ', '➡ ', '— ', '-> ');
  const around = fc.constantFrom('', '*', '**', '_', '`', '***', '\u200b', '\u001b[1m');
  const behind = fc.constantFrom('', '.', '!', ' ✅', ' 🎉', '<br>', ' \t', '。', '！', '\u200b');
  const below = fc.constantFrom('', '\n', '\n\n---\n', '\r\n', '\n\n***\n\n', '\n✅\n');
  const lead = fc.constantFrom(
    '',
    'Done. ',
    'All done! ',
    'Final answer: ',
    '**Done:** ',
    'All tests pass ✅ ',
    '完成！',
  );
  const ending = fc
    .tuple(before, lead, around, behind, below)
    .map(([marks, leadWords, emphasis, end, rest]) => `${marks}${leadWords}${emphasis}${tag}${emphasis}${end}${rest}`);

  test('any decoration around it counts', () => {
    fc.assert(
      fc.property(ending, (line) => {
        expect(judge([message(`All tests pass.\n\n${line}`)])).toMatchObject({ completionFound: true });
        expect(judge([plain(line)])).toMatchObject({ completionFound: true });
      }),
      { numRuns: 800 },
    );
  });

  test('any sentence after it rejects it', () => {
    const sentence = fc.oneof(
      fc.constantFrom('But two tests fail.', 'TODO: task two', 'Good night.', 'ok', '3 left', '还没有', 'See above!'),
      fc.string({ minLength: 1 }).filter((said) => /[\p{L}\p{N}]/u.test(said) && !/[\u0000-\u001f]/.test(said)),
    );
    const gap = fc.constantFrom(' ', '\n', '\n\n', '\n\n---\n\n', '\n- ', '\n> ', '\n```\n');
    fc.assert(
      fc.property(ending, gap, sentence, (line, between, said) => {
        expect(judge([message(`${line}${between}${said}`)]).completionFound).toBe(false);
        expect(judge([message(line), tool, message(said)]).completionFound).toBe(false);
      }),
      { numRuns: 800 },
    );
  });

  test('any text long before it does not matter', () => {
    const earlier = fc.oneof(piecesOf(newlines, fences, words, colors), fc.array(fc.string()));
    fc.assert(
      fc.property(earlier, ending, (pieces, line) => {
        const earlierText = pieces.join('').replaceAll('<', '').replaceAll('\u001b', '');
        expect(judge([message(`${earlierText}\n\nAll tests pass.\n\n${line}`)])).toMatchObject({
          completionFound: true,
        });
      }),
      { numRuns: 800 },
    );
  });
});
