import { useState } from 'preact/hooks';
import type { DiffHunk } from '../../../api.ts';
import { grouped } from '../../../../ralph/usage.ts';
import { highlight, languageOf, type Token } from '../../parts/highlight.ts';
import { type NumberedLine, type Pair, pairsOf, unifiedOf } from './rows.ts';

export type DiffStyle = 'unified' | 'split';

/** Lines that are shown at once. */
const shownFirst = 1500;

/** The hunks of a file as a table. */
export const Hunks = ({
  hunks,
  style,
  language,
}: {
  readonly hunks: readonly DiffHunk[];
  readonly style: DiffStyle;
  readonly language: string;
}) => {
  const [shown, setShown] = useState(shownFirst);
  const total = hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  let left = shown;
  return (
    <div class={`hunks is-${style}`}>
      <table>
        <caption class="visually-hidden">Changes in {language}</caption>
        {style === 'split' && (
          <colgroup>
            <col class="number-column" />
            <col />
            <col class="number-column" />
            <col />
          </colgroup>
        )}
        {hunks.map((hunk, index) => {
          if (left <= 0) return null;
          const part = hunk.lines.length > left ? { ...hunk, lines: hunk.lines.slice(0, left) } : hunk;
          left -= hunk.lines.length;
          return <Hunk key={index} hunk={part} style={style} language={language} />;
        })}
      </table>
      {total > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + 4 * shownFirst)}>
          Show more: {grouped(total - shown)} lines
        </button>
      )}
    </div>
  );
};

const Hunk = ({
  hunk,
  style,
  language,
}: {
  readonly hunk: DiffHunk;
  readonly style: DiffStyle;
  readonly language: string;
}) => {
  const pairs = pairsOf(hunk);
  return (
    <tbody>
      <tr class="hunk-heading">
        <td colSpan={style === 'split' ? 4 : 3}>
          Line {hunk.newStart} {hunk.heading !== '' && <code>{hunk.heading}</code>}
        </td>
      </tr>
      {style === 'split'
        ? pairs.map((pair, index) => <SplitRow key={index} pair={pair} language={language} />)
        : unifiedOf(pairs).map((line, index) => <UnifiedRow key={index} line={line} language={language} />)}
    </tbody>
  );
};

const UnifiedRow = ({ line, language }: { readonly line: NumberedLine; readonly language: string }) => (
  <tr class={`line-${line.kind}`}>
    <td class="line-number">{line.oldNumber}</td>
    <td class="line-number">{line.newNumber}</td>
    <LineText line={line} language={language} />
  </tr>
);

const SplitRow = ({ pair: [left, right], language }: { readonly pair: Pair; readonly language: string }) => (
  <tr>
    <Side line={left} number={left?.oldNumber ?? null} language={language} />
    <Side line={right} number={right?.newNumber ?? null} language={language} />
  </tr>
);

const Side = ({
  line,
  number,
  language,
}: {
  readonly line: NumberedLine | null;
  readonly number: number | null;
  readonly language: string;
}) =>
  line === null ? (
    <>
      <td class="line-number is-nothing" />
      <td class="is-nothing" />
    </>
  ) : (
    <>
      <td class={`line-number side-${line.kind}`}>{number}</td>
      <LineText line={line} language={language} />
    </>
  );

const signs = { same: ' ', added: '+', removed: '−' };

const LineText = ({ line, language }: { readonly line: NumberedLine; readonly language: string }) => (
  <td class={`line-text text-${line.kind}`}>
    <span class="sign">{signs[line.kind]}</span>
    {withChanged(highlight(line.text, languageOf(language)), line.changed).map(({ text, kind, isChanged }, index) =>
      kind === null && !isChanged ? (
        text
      ) : (
        <span key={index} class={`${kind === null ? '' : `c-${kind}`}${isChanged ? ' is-changed' : ''}`}>
          {text}
        </span>
      ),
    )}
    {line.noNewline && <span class="quiet"> (no newline at the end)</span>}
  </td>
);

/** Splits the tokens where the changed part begins and ends. */
const withChanged = (
  tokens: readonly Token[],
  changed: NumberedLine['changed'],
): readonly (Token & { readonly isChanged: boolean })[] => {
  if (changed === null) return tokens.map((token) => ({ ...token, isChanged: false }));
  let at = 0;
  return tokens.flatMap(({ text, kind }) => {
    const from = at;
    at += text.length;
    const [start, end] = changed.map((edge) => Math.min(text.length, Math.max(0, edge - from))) as [number, number];
    return [
      { text: text.slice(0, start), kind, isChanged: false },
      { text: text.slice(start, end), kind, isChanged: true },
      { text: text.slice(end), kind, isChanged: false },
    ].filter((part) => part.text !== '');
  });
};
