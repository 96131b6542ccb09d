// A screen as an SVG that needs no font and no script.

/**
 * @typedef {import('./screen.mjs').Cell} Cell
 * @typedef {{ column: number, columns: number, cells: Cell[], style: string, inverse: boolean }} Span
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
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${cell.font}" fill="${colors.text}">
${rows.map(rowToSvg).filter(Boolean).join('\n')}
</g>
</svg>
`;
};

/** @param {Cell[]} cells @param {number} row */
const rowToSvg = (cells, row) => {
  const y = margin.top + row * cell.height + cell.font - 2;
  const behind = spansOf(cells, ({ inverse }) => String(inverse))
    .filter(({ inverse }) => inverse)
    .map(
      ({ column, columns }) =>
        `<rect x="${toX(column)}" y="${y - cell.font}" width="${toWidth(columns)}" height="${cell.height}" fill="${colors.text}"/>`,
    );
  const texts = spansOf(cells, styleOf)
    .flatMap(textsOf)
    .map(
      // A browser may have another font: the text takes exactly its columns anyway.
      ({ column, columns, text, style }) =>
        `<text x="${toX(column)}" y="${y}" textLength="${toWidth(columns)}" lengthAdjust="spacingAndGlyphs"${style}>${escape(text)}</text>`,
    );
  return [...behind, ...texts].join('');
};

const toX = (/** @type {number} */ column) => (margin.side + column * cell.width).toFixed(1);
const toWidth = (/** @type {number} */ columns) => (columns * cell.width).toFixed(1);

/** Neighbouring cells that look the same. @param {Cell[]} cells @param {(cell: Cell) => string} lookOf */
const spansOf = (cells, lookOf) => {
  /** @type {Span[]} */
  const spans = [];
  let column = 0;
  for (const one of cells) {
    const style = lookOf(one);
    const last = spans.at(-1);
    if (last?.style === style) {
      last.cells.push(one);
      last.columns += one.width;
    } else spans.push({ column, columns: one.width, cells: [one], style, inverse: one.inverse });
    column += one.width;
  }
  return spans;
};

/**
 * The texts between blanks. Browsers draw several blanks as one, and would stretch the rest of the text instead.
 * @param {Span} span
 */
const textsOf = ({ column, cells, style }) => {
  /** @type {{ column: number, columns: number, text: string, style: string }[]} */
  const texts = [];
  let end = column;
  for (const { text, width } of cells) {
    const last = texts.at(-1);
    if (text.trim() !== '') {
      const gap = last ? end - last.column - last.columns : null;
      if (last && gap !== null && gap <= 1) {
        last.text += ' '.repeat(gap) + text;
        last.columns += gap + width;
      } else texts.push({ column: end, columns: width, text, style });
    }
    end += width;
  }
  return texts;
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
