// A screen as an SVG that needs no font of its own and no script.

/**
 * @typedef {import('./screen.mjs').Cell} Cell
 * @typedef {{ column: number, columns: number, text: string, style: string, inverse: boolean }} Span
 */

const cell = { width: 8.4, height: 19, font: 14 };
const margin = { side: 18, top: 46, bottom: 18 };
const colors = { background: '#16181d', text: '#d8dee9', frame: '#2b303b', title: '#8b93a5' };
/** The sixteen colors of a terminal. */
const palette = (
  '#3b4252 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #d8dee9 ' +
  '#6b7280 #ff8f98 #b5e08d #ffd98a #8cc8ff #e0a3f0 #7fdbe6 #ffffff'
).split(' ');

/**
 * @param {import('./screen.mjs').Screen} screen
 * @param {string} title
 */
export const toSvg = ({ columns, rows }, title) => {
  const width = Math.round(columns * cell.width + 2 * margin.side);
  const height = Math.round(rows.length * cell.height + margin.top + margin.bottom);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(title)}">
<rect width="${width}" height="${height}" rx="8" fill="${colors.background}"/>
<path d="M0 30h${width}" stroke="${colors.frame}"/>
<text x="${width / 2}" y="20" text-anchor="middle" font-family="system-ui, sans-serif" font-size="12" fill="${colors.title}">${escape(title)}</text>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${cell.font}" fill="${colors.text}" xml:space="preserve">
${rows.map(rowToSvg).filter(Boolean).join('\n')}
</g>
</svg>
`;
};

/** @param {Cell[]} cells @param {number} row */
const rowToSvg = (cells, row) => {
  const y = margin.top + row * cell.height + cell.font - 2;
  return spansOf(cells)
    .filter(({ text, inverse }) => inverse || text.trim() !== '')
    .map(({ column, columns, text, style, inverse }) => {
      const x = (margin.side + column * cell.width).toFixed(1);
      // A browser may have another font: the text takes exactly its columns anyway.
      const length = (columns * cell.width).toFixed(1);
      const behind = inverse
        ? `<rect x="${x}" y="${y - cell.font}" width="${length}" height="${cell.height}" fill="${colors.text}"/>`
        : '';
      return `${behind}<text x="${x}" y="${y}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${style}>${escape(text)}</text>`;
    })
    .join('');
};

/** Neighbouring cells that look the same. @param {Cell[]} cells */
const spansOf = (cells) => {
  /** @type {Span[]} */
  const spans = [];
  let column = 0;
  for (const one of cells) {
    const style = styleOf(one);
    const last = spans.at(-1);
    if (last?.style === style) {
      last.text += one.text;
      last.columns += one.width;
    } else spans.push({ column, columns: one.width, text: one.text, style, inverse: one.inverse });
    column += one.width;
  }
  return spans.map(trimmed);
};

/** Blanks around a text are not drawn. @param {Span} span */
const trimmed = (span) => {
  if (span.inverse) return span;
  const before = span.text.length - span.text.trimStart().length;
  const after = span.text.length - span.text.trimEnd().length;
  return { ...span, text: span.text.trim(), column: span.column + before, columns: span.columns - before - after };
};

/** @param {Cell} cell */
const styleOf = ({ bold, dim, inverse, color }) =>
  [
    inverse ? ` fill="${colors.background}"` : color === null ? '' : ` fill="${palette[color % palette.length]}"`,
    bold ? ' font-weight="bold"' : '',
    dim ? ' opacity="0.6"' : '',
  ].join('');

/** @param {string} text */
const escape = (text) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
