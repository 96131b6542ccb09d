// Bundles src/web/page/ into dist/web/: index.html, one script and one style sheet with hashed names. Only their
// compressed form is written: the server derives the others when it starts.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'src', 'web', 'page');

/** The style sheets, in the order of the cascade. */
const styles = ['theme', 'base', 'shell', 'overview', 'run', 'conversation', 'diff', 'charts', 'proof', 'dialog'];

/**
 * Writes the page and returns the modules that it consists of.
 * @returns {Promise<string[]>}
 */
export const buildPage = async () => {
  const { output } = await build({
    cwd: root,
    platform: 'browser',
    logLevel: 'warn',
    tsconfig: 'tsconfig.page.json',
    input: join(source, 'main.tsx'),
    write: false,
    output: { format: 'esm', minify: true, codeSplitting: false },
    plugins: [{ name: 'language', transform: (code, id) => (id.includes('uPlot') ? inEnglish(code) : null) }],
  });
  const [script] = output;
  const scriptName = `app-${hashOf(script.code)}.js`;
  const style = readStyles();
  const styleName = `app-${hashOf(style)}.css`;
  const page = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('app.js', scriptName)
    .replace('app.css', styleName);
  mkdirSync(join(root, 'dist', 'web'), { recursive: true });
  write(scriptName, script.code);
  write(styleName, style);
  write('index.html', page);
  return script.moduleIds;
};

/**
 * uPlot formats numbers in the language of the browser, and does not load if that is none, as `en-US@posix` in Chrome with
 * LC_ALL=C. The page is in English.
 * @param {string} code
 */
const inEnglish = (code) => {
  const english = code.replace('nav.language', "'en-US'");
  if (english === code) throw new Error('uPlot has changed: scripts/build-page.mjs');
  return english;
};

/** uPlot needs its own style sheet. Comments and indentation go, which is most of what a minifier would take. */
const readStyles = () => {
  const uplot = createRequire(import.meta.url).resolve('uplot/dist/uPlot.min.css');
  return [uplot, ...styles.map((name) => join(source, 'style', `${name}.css`))]
    .map((file) =>
      readFileSync(file, 'utf8')
        .replaceAll(/\/\*[\s\S]*?\*\//g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .join('\n')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(';}', '}');
};

/** @param {string} text */
const hashOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 10);

/** @param {string} name @param {string} text */
const write = (name, text) => {
  const best = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  writeFileSync(join(root, 'dist', 'web', `${name}.br`), brotliCompressSync(text, best));
};
