// Draws series as an SVG: one panel each, both axes logarithmic.

/** @typedef {import('./growth.mjs').Series} Series */

const panel = { width: 420, height: 260, left: 62, right: 24, top: 44, bottom: 46 };
const colors = ['#2563eb', '#9ca3af'];

/** @param {readonly Series[]} all */
export const plot = (all) => {
  const [columns, rows] = [2, Math.ceil(all.length / 2)];
  const panels = all.map((series, at) =>
    drawPanel(series, (at % columns) * panel.width, Math.floor(at / columns) * panel.height),
  );
  const [width, height] = [columns * panel.width, rows * panel.height];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${panels.join('\n')}
</svg>
`;
};

/** @param {Series} series @param {number} x @param {number} y */
const drawPanel = ({ title, across, up, sizes, lines }, x, y) => {
  const values = lines.flatMap((line) => line.values);
  const right = scale([Math.min(...sizes), Math.max(...sizes)], [panel.left, panel.width - panel.right]);
  const above = scale(decadesAround(values), [panel.height - panel.bottom, panel.top]);
  const marks = [
    text(panel.left, 20, `${title}, by ${across}`, 'font-weight="bold"'),
    ...sizes.map((size) =>
      text(right(size), panel.height - panel.bottom + 18, short(size), 'text-anchor="middle" fill="#4b5563"'),
    ),
    ...decades(decadesAround(values)).flatMap((value) => [
      `<line x1="${panel.left}" x2="${panel.width - panel.right}" y1="${round(above(value))}" y2="${round(above(value))}" stroke="#e5e7eb"/>`,
      text(panel.left - 8, above(value) + 4, withUnit(value, up), 'text-anchor="end" fill="#4b5563"'),
    ]),
  ];
  const curves = lines.flatMap(({ name, values: own }, line) => {
    const points = own.map((value, at) => `${round(right(sizes[at] ?? NaN))},${round(above(value))}`);
    const color = colors[line] ?? '#000000';
    return [
      `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...points.map(
        (point) => `<circle cx="${point.split(',')[0]}" cy="${point.split(',')[1]}" r="3" fill="${color}"/>`,
      ),
      text(panel.left + 8 + line * 110, 38, `● ${name}`, `fill="${color}"`),
    ];
  });
  return `<g transform="translate(${x} ${y})">\n${[...marks, ...curves].join('\n')}\n</g>`;
};

/** @param {readonly [number, number]} values @param {readonly [number, number]} places */
const scale =
  ([low, high], [from, to]) =>
  (/** @type {number} */ value) =>
    from + ((Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * (to - from);

/** @param {readonly number[]} values @returns {[number, number]} */
const decadesAround = (values) => [
  10 ** Math.floor(Math.log10(Math.min(...values))),
  10 ** Math.ceil(Math.log10(Math.max(...values))),
];

/** @param {readonly [number, number]} range */
const decades = ([low, high]) =>
  Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, at) => low * 10 ** at);

/** @param {number} x @param {number} y @param {string} words @param {string} attributes */
const text = (x, y, words, attributes) => `<text x="${round(x)}" y="${round(y)}" ${attributes}>${words}</text>`;

/** @param {number} value */
const round = (value) => Math.round(value * 10) / 10;

/** @param {number} value */
const short = (value) => (value >= 1000 ? `${value / 1000}k` : String(value));

/** @param {number} value @param {string} unit */
const withUnit = (value, unit) => (unit === 'ms' && value >= 1000 ? `${value / 1000} s` : `${short(value)} ${unit}`);
