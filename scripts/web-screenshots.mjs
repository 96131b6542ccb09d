// node scripts/web-screenshots.mjs: makes the pictures of docs/web.md from real runs of a scripted agent.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { launchOptions } from './chromium.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const base = mkdtempSync(join(tmpdir(), 'spool-pictures-'));
const [home, folder] = [join(base, 'home'), join(base, 'shop')];
const env = {
  ...process.env,
  HOME: home,
  PATH: `${root}/test/fixtures/bin:${process.env.PATH}`,
  XDG_STATE_HOME: '',
  NO_COLOR: '1',
  SPOOL_AGENT_MODE: 'cold',
};
const spool = (/** @type {string[]} */ ...args) => [join(root, 'dist', 'spool.cjs'), ...args];

/** @param {string} name @param {string} text */
const write = (name, text) => {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
};
/** @param {string} type @param {object} part */
const line = (type, part) => `cat <<'LINE'\n${JSON.stringify({ type, part: { type, ...part } })}\nLINE\n`;
const says = (/** @type {string} */ text) => line('text', { text });
const uses = (/** @type {string} */ tool, /** @type {object} */ input, state = {}) =>
  line('tool_use', { tool, state: { status: 'completed', input, ...state } });
const spends = (/** @type {number} */ cost, /** @type {number} */ input) =>
  line('step_finish', { reason: 'stop', cost, tokens: { input, output: Math.round(input / 7) } });
const promise = says('<promise>COMPLETE</promise>');

const invoices = '001-01_add-invoices';
const tasksOf = (/** @type {string} */ change) => `.spool/changes/${change}/tasks.md`;
const tick = (/** @type {number} */ number) => `sed -i 's/\\[ \\] ${number}\\./[x] ${number}./' ${tasksOf(invoices)}\n`;

const titles = [
  'Parse orders',
  'Add up an invoice',
  'Round to cents',
  'Print it as text',
  'Print it as PDF',
  'Mail it',
  'Describe it in the README',
];
const numbered = titles.map((title, index) => `- [ ] ${index + 1}. ${title}`).join('\n');

/** @type {Record<string, string>} */
const files = {
  [`.spool/changes/${invoices}/proposal.md`]:
    '# Add invoices\n\nCustomers want an **invoice** for each order.\n\n- Amounts are in cents, see `src/money.ts`\n- An invoice has a number that is never used twice\n',
  [tasksOf(invoices)]: `${numbered}\n`,
  '.spool/changes/001-02_export-orders/proposal.md': '# Export orders\n\nAs CSV.\n',
  [tasksOf('001-02_export-orders')]: '- [ ] 1. Columns\n- [ ] 2. Encoding\n',
  '.spool/changes/002-01_refund-payments/proposal.md': '# Refund payments\n',
  '.spool/changes/002-02_login-by-mail/proposal.md': '# Log in by mail\n',
  '.spool/changes/003-01_dark-theme/proposal.md': '# A dark theme\n',
  'src/invoice.ts':
    "import { format } from './money.ts';\n\n/** Adds up the lines of an order. */\nexport const total = (lines: readonly Line[]): number => {\n  let sum = 0;\n  for (const line of lines) sum += line.price * line.count;\n  return sum;\n};\n\nexport const print = (lines: readonly Line[]) => `Total: ${format(total(lines))}`;\n",
  'check.sh':
    'test -f src/done.txt || { echo "FAIL test/invoice.test.ts"; echo "  rounds to cents: expected 1999, got 1998.9999999999998"; exit 1; }\n',
};
const better = (files['src/invoice.ts'] ?? '')
  .replace('line.price * line.count', 'Math.round(line.price * line.count)')
  .replace('  return sum;', '  // Cents are whole numbers.\n  return sum;');

/** @param {string} name @param {string} text */
const writes = (name, text) => `mkdir -p "$(dirname '${name}')"\ncat > '${name}' <<'FILE'\n${text}FILE\n`;
/** Some lines of code, so that the charts have something to show. @param {number} count @param {string} name */
const code = (count, name) =>
  Array.from({ length: count }, (_, index) => `export const ${name}${index} = ${index};\n`).join('');

/** The agent of the invoices, iteration by iteration. */
const iterations = [
  says('I look at the **current state** first.') +
    uses('read', { filePath: 'src/invoice.ts' }) +
    uses('bash', { command: 'npm test' }) +
    writes('src/parse.ts', code(38, 'order')) +
    tick(1) +
    spends(0.21, 18_400) +
    'sleep 0.6',
  says('The parser is there, the sum comes next.') +
    writes('src/sum.ts', code(21, 'sum')) +
    tick(2) +
    spends(0.16, 15_100) +
    'sleep 0.4',
  says('All tests pass.') + writes('src/invoice.ts', better) + tick(3) + spends(0.3, 24_900) + promise,
  'echo "upstream connect error (HTTP 500)" >&2; exit 1',
  says('I print the invoice.') +
    writes('src/print.ts', code(64, 'page')) +
    tick(4) +
    spends(0.27, 22_000) +
    'sleep 0.8',
  says('Nothing to do here.') + spends(0.05, 6100),
  [
    says(
      'The text is done. Now the **PDF**:\n\n1. A page with `format()` for all amounts\n2. The number of the invoice in the footer\n\n```ts\n// A page has room for 40 lines.\nexport const pages = (lines: Line[]) => Math.ceil(lines.length / 40);\n```',
    ),
    uses('read', { filePath: 'src/print.ts' }),
    uses('edit', { filePath: 'src/pdf.ts' }),
    uses('bash', { command: 'npm test' }, { status: 'error', error: 'exit code 1' }),
    says('One test fails: the footer is missing on the last page. I fix that.'),
    uses('bash', { command: 'npm test -- --run test/pdf.test.ts' }),
    `touch "$HOME/ready"\nwhile [ ! -e "$HOME/end" ]; do sleep 0.1; done\n`,
  ].join(''),
];

const run = (/** @type {string[]} */ ...args) => {
  try {
    execFileSync(process.execPath, spool(...args), { cwd: folder, env, stdio: 'ignore' });
  } catch {
    // A run that fails is one of the pictures.
  }
};
/** @param {readonly string[]} scripts */
const scriptAgent = (scripts) => {
  rmSync(join(home, 'agent'), { recursive: true, force: true });
  mkdirSync(join(home, 'agent'), { recursive: true });
  scripts.forEach((script, index) => writeFileSync(join(home, 'agent', `${index + 1}.sh`), script));
};

for (const [name, text] of Object.entries(files)) write(name, text);
mkdirSync(home, { recursive: true });
writeFileSync(
  join(home, '.gitconfig'),
  '[user]\n\tname = Someone\n\temail = someone@example.com\n[init]\n\tdefaultBranch = main\n',
);
execFileSync('sh', ['-c', 'git init --quiet && git add --all && git commit --quiet -m start'], { cwd: folder, env });

const ofExport = (/** @type {number} */ number) =>
  `sed -i 's/\\[ \\] ${number}/[x] ${number}/' ${tasksOf('001-02_export-orders')}\n`;
scriptAgent([
  `${ofExport(1)}${spends(0.11, 9000)}`,
  `${writes('src/csv.ts', code(12, 'csv'))}${ofExport(2)}${spends(0.14, 11_000)}${promise}`,
]);
run('ralph', '--change', '001-02_export-orders');
scriptAgent([
  spends(0.09, 8000) +
    says(
      '<promise>BLOCKED</promise>\nThe payment API needs a key for its test mode, and there is none in the project.',
    ),
]);
run('ralph', '--change', '002-01_refund-payments', '--max-stalled', '1');
scriptAgent(['echo "upstream connect error (HTTP 500)" >&2; exit 1']);
run('ralph', '--change', '002-02_login-by-mail', '--max-failures', '1');
const server = spawn(process.execPath, spool('web', '--port', '0'), {
  cwd: folder,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const url = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(String(text).trim())));
const browser = await chromium.launch(launchOptions());

/** @typedef {{ view?: string, see: string, scheme?: 'dark' | 'light', width?: number, height?: number, press?: string }} Picture */

/** Before the loop changes other files. @type {Picture} */
const rewind = {
  view: '#/change/001-02_export-orders/latest',
  see: 'Complete',
  press: 'Rewind…',
  scheme: 'light',
  height: 560,
};
/** While the loop runs. @type {Record<string, Picture>} */
const pictures = {
  overview: { see: 'npm test -- --run' },
  'overview-light': { see: 'npm test -- --run', scheme: 'light' },
  run: { view: `#/change/${invoices}/latest`, see: 'One test fails' },
  gate: { view: `#/change/${invoices}/latest/3/gate`, see: 'The promise was rejected', scheme: 'light' },
  diff: { view: `#/change/${invoices}/latest/3/diff`, see: 'Math.round', press: 'Side by side', scheme: 'light' },
  charts: { view: `#/change/${invoices}/latest/charts`, see: 'Files and lines', height: 960 },
  'phone-overview': { see: 'npm test -- --run', width: 360, height: 760 },
  'phone-run': { view: `#/change/${invoices}/latest`, see: 'One test fails', width: 360, height: 760, scheme: 'light' },
};

/** @type {import('node:child_process').ChildProcess[]} */
const children = [server];

try {
  await take('rewind', rewind);
  scriptAgent(iterations);
  const limits = ['--max-iterations', '30', '--max-cost', '5', '--max-duration', '8h', '--verify', 'sh check.sh'];
  children.push(
    spawn(process.execPath, spool('ralph', '--change', invoices, ...limits), { cwd: folder, env, stdio: 'ignore' }),
  );
  for (const [name, picture] of Object.entries(pictures)) await take(name, picture);
} finally {
  await browser.close();
  writeFileSync(join(home, 'end'), '');
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(children.map((child) => child.exitCode ?? new Promise((done) => child.once('exit', done))));
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
}

/** @param {string} name @param {Picture} picture */
async function take(name, { view = '', see, scheme = 'dark', width = 1200, height = 760, press }) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' });
  await page.goto(url);
  await page.getByRole('link', { name: invoices }).waitFor();
  if (view !== '') await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await page.getByText(see).first().waitFor();
  if (press) await page.getByRole('button', { name: press }).click();
  if (press)
    await page
      .getByText(press === 'Rewind…' ? 'Same as' : 'Math.round')
      .first()
      .waitFor();
  // The charts are drawn, and the dates shown.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  await page.screenshot({ path: join(root, 'docs', 'pictures', `web-${name}.png`) });
  await page.close();
}
