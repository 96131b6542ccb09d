// The projects in which the examples of the docs are run.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sharedQueue } from './cluster.mjs';

/** @typedef {import('./agent.mjs').Assignment} Assignment */

const root = fileURLToPath(new URL('../..', import.meta.url));
const spool = join(root, 'dist', 'spool.cjs');

/**
 * A project in a temporary folder, with `spool` and the agent of the docs on PATH, and a separate HOME.
 * @param {{ files: Record<string, string>, agent: Assignment, programs?: Record<string, string> }} content
 */
const createProject = ({ files, agent, programs = {} }) => {
  const base = mkdtempSync(join(tmpdir(), 'spool-docs-'));
  const [folder, home, bin] = [join(base, 'shop'), join(base, 'home'), join(base, 'bin')];
  /** @param {string} path @param {string} text */
  const write = (path, text) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  /** @param {string} name @param {string} script */
  const program = (name, script) => {
    write(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program('spool', spool);
  program('opencode', join(root, 'scripts', 'docs', 'agent.mjs'));
  for (const [name, script] of Object.entries(programs)) {
    write(join(bin, name), script);
    chmodSync(join(bin, name), 0o755);
  }
  for (const [name, text] of Object.entries(files)) write(join(folder, name), text);
  write(join(home, 'agent.json'), JSON.stringify(agent));
  write(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n');
  const env = {
    PATH: [bin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    HOME: home,
    PWD: folder,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    SHELL: '/bin/sh',
    PS1: '$ ',
    // The agent of the docs does not speak ACP.
    SPOOL_AGENT_MODE: 'cold',
  };
  const options = { cwd: folder, env };
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
    ['commit', '--quiet', '-m', 'Start of the shop'],
  ])
    execFileSync('git', args, options);
  /** @type {import('node:child_process').ChildProcess[]} */
  const started = [];
  return {
    folder,
    env,
    /** @param {string[]} args */
    spool: (...args) => execFileSync(process.execPath, [spool, ...args], { ...options, stdio: 'ignore' }),
    /** For a run that does not end well. @param {string[]} args */
    trySpool: (...args) => spawnSync(process.execPath, [spool, ...args], { ...options, stdio: 'ignore' }),
    /** @param {string[]} args */
    git: (...args) => execFileSync('git', args, options),
    /** Runs Spool in the background. @param {string[]} args */
    start: (...args) => started.push(spawn(process.execPath, [spool, ...args], { ...options, stdio: 'ignore' })),
    /** Resolves when a file below the folder exists. @param {string} name */
    appears: async (name) => {
      while (!existsSync(join(base, name))) await delay(50);
    },
    /** Resolves when the current run of a change has recorded the text. @param {string} id @param {string} text */
    records: async (id, text) => {
      const runs = join(folder, '.spool', '.state', 'ralph', id, 'runs');
      const hasText = () => {
        const [last] = existsSync(runs) ? readdirSync(runs).toSorted().slice(-1) : [];
        const journal = last === undefined ? '' : join(runs, last, 'events.jsonl');
        return existsSync(journal) && readFileSync(journal, 'utf8').includes(text);
      };
      while (!hasText()) await delay(50);
    },
    /** Tells agents that wait for it to continue. @param {string} name */
    signal: (name) => writeFileSync(join(home, name), ''),
    close: async () => {
      // Runs in the background.
      spawnSync(process.execPath, [spool, 'stop', '--all', '--now'], { ...options, stdio: 'ignore' });
      for (const child of started) {
        if (child.exitCode !== null) continue;
        child.kill('SIGTERM');
        await new Promise((resolve) => child.once('close', resolve));
      }
      rmSync(base, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

/** @typedef {Omit<ReturnType<typeof createProject>, 'env'> & { env: Record<string, string> }} Project */

const change = '001-01_add-invoices';

const test = `import assert from 'node:assert/strict';
import test from 'node:test';
import * as invoices from '../src/invoices.js';

test('adds up an invoice', () => assert.equal(invoices.total([{ price: 5, count: 2 }]), 10));
`;
const healthTest = `import assert from 'node:assert/strict';
import test from 'node:test';
import { health } from '../src/health.js';

test('is healthy', () => assert.equal(health().status, 'ok'));
`;
const total = `export const total = (items) => items.reduce((sum, { price, count }) => sum + price * count, 0);\n`;

/** @type {Record<string, string>} */
const plainFiles = {
  'package.json': `${JSON.stringify({ name: 'shop', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'src/shop.js': `export const name = 'shop';\n`,
};

/** @param {string} name @param {string[]} tasks */
const changeFiles = (name, tasks) => ({
  [`.spool/changes/${name}/proposal.md`]: `# ${name.slice(7).replaceAll('-', ' ')}\n\n## Why\n\nCustomers ask for it.\n\n## What Changes\n\n- See tasks.md\n`,
  [`.spool/changes/${name}/tasks.md`]: tasks.map((task) => `- [ ] ${task}\n`).join(''),
});

const invoices = ['1. Parse orders', '2. Add up an invoice', '3. Print it as text', '4. Describe it in the README'];

const projectFiles = {
  ...plainFiles,
  '.spool/modules/001_billing/module.md': '# Module 001: Billing\n',
  ...changeFiles(change, invoices),
};

/** @param {string} name @param {string} text @param {string[]} scenario Its name and steps. */
const requirement = (name, text, [title, when, then]) =>
  `### Requirement: ${name}\n\n${text}\n\n#### Scenario: ${title}\n\n- **WHEN** ${when}\n- **THEN** ${then}\n`;

const specFiles = {
  ...projectFiles,
  [`.spool/changes/${change}/tasks.md`]: invoices.map((task) => `- [x] ${task}\n`).join(''),
  '.spool/specs/billing/spec.md': `# billing Specification\n\n## Purpose\n\nCustomers get an invoice for every order, with the right total.\n\n## Requirements\n\n${requirement('Total', 'The system SHALL add up the items of an order.', ['Two items', 'an order has two items', 'the total is the sum of both'])}`,
  [`.spool/changes/${change}/specs/billing/spec.md`]: `## RENAMED Requirements\n\n- FROM: \`### Requirement: Total\`\n- TO: \`### Requirement: Invoice total\`\n\n## ADDED Requirements\n\n${requirement('Discount', 'Regular customers get a discount.', ['Tenth order', 'a customer orders for the tenth time', 'the total is lower'])}`,
};

const done = '001-09_fix-rounding';
const severalFiles = {
  ...plainFiles,
  '.spool/modules/001_billing/module.md': '# Module 001: Billing\n',
  ...changeFiles('001-01_add-invoices', invoices),
  ...changeFiles('001-02_add-refunds', ['1. Refund an order', '2. Describe it']),
  ...changeFiles('001-03_export-csv', ['1. Write a row', '2. Write a file', '3. Describe it']),
  ...changeFiles('001-04_print-labels', ['1. Print a label']),
};

/** Four iterations: one works, one fails, one promises too early, one finishes. @type {Assignment} */
const night = {
  [change]: [
    [
      { say: 'I start with the **parser**.' },
      { write: 'src/orders.js', text: 'export const parse = (text) => JSON.parse(text);\n' },
      { takes: 1200 },
      { tick: '1. Parse orders' },
      { say: 'The parser works. The invoice is next.' },
    ],
    [{ say: 'Now the invoice.' }, { takes: 600 }, { fail: 'upstream connect error (HTTP 500)' }],
    [
      { write: 'src/invoices.js', text: total.replace('price * count', 'price') },
      { write: 'test/invoices.test.js', text: test },
      { takes: 900 },
      { tick: '2. Add up an invoice' },
      { tick: '3. Print it as text' },
      { say: 'Invoices are done.\n\n<promise>COMPLETE</promise>' },
    ],
    [
      { say: 'The test fails: the count is ignored.' },
      { write: 'src/invoices.js', text: total },
      { run: 'npm test' },
      { write: 'README.md', text: '# Shop\n\n`total` adds up an invoice.\n' },
      { tick: '4. Describe it in the README' },
      { takes: 800 },
      { say: 'All tests pass.\n\n<promise>COMPLETE</promise>' },
    ],
  ],
};

/** @type {Assignment} */
const health = {
  '*': [
    [
      { write: 'src/health.js', text: `export const health = () => ({ status: 'ok' });\n` },
      { say: 'Added GET /health. The tests are next.' },
    ],
    [
      { write: 'test/health.test.js', text: healthTest },
      { run: 'npm test' },
      { say: 'Added a test for the endpoint. All tests pass.\n\n<promise>COMPLETE</promise>' },
    ],
  ],
};

/** Works until it is told to continue. @type {Assignment} */
const working = {
  '*': [
    [
      { say: 'I start with the **parser**.' },
      { write: 'src/orders.js', text: 'export const parse = (text) => JSON.parse(text);\n' },
      { tick: '1. Parse orders' },
      { say: 'The parser works. The invoice is next.' },
    ],
    [
      { say: 'Now the invoice.' },
      { write: 'src/invoices.js', text: total },
      { tick: '2. Add up an invoice' },
      { run: 'npm test' },
      { untilExists: 'continue' },
      { say: 'All tests pass.\n\n<promise>COMPLETE</promise>' },
    ],
  ],
};

const queue = ['001-01_add-invoices', '001-02_add-refunds', '001-03_export-csv', '001-04_print-labels'];

/** Three agents that work, each at another place, and one that waits in the queue. @type {Assignment} */
const working3 = {
  [queue[0] ?? '']: [
    [{ say: 'I start with the parser.' }, { tick: '1. Parse orders' }, { takes: 700 }, { say: 'The parser works.' }],
    [{ write: 'src/invoices.js', text: total }, { run: 'npm test' }, { untilExists: 'continue' }],
  ],
  [queue[1] ?? '']: [[{ write: 'src/refunds.js', text: total }, { untilExists: 'continue' }]],
  [queue[2] ?? '']: [[{ say: 'Which columns?' }, { run: 'node src/shop.js' }, { untilExists: 'continue' }]],
  [done]: [[{ tick: '1. Fix it' }, { takes: 1200 }, { say: 'Fixed.\n\n<promise>COMPLETE</promise>' }]],
};

const ignored = 'node_modules\n/*.ts\n/*.js\n';

/** Trees of other tools, in the repository of the shop. */
const specs = {
  openspec: {
    'openspec/config.yaml': `schema: spec-driven\ncontext: |\n  Node 20, no dependencies.\n`,
    'openspec/changes/add-2fa/.openspec.yaml': 'schema: spec-driven\ncreated: 2026-11-16\n',
    'openspec/changes/add-2fa/proposal.md':
      '## Why\n\nPasswords alone are not enough.\n\n## What Changes\n\n- Ask for a code at login\n',
    'openspec/changes/add-2fa/design.md': '## Decisions\n\n- Codes are valid for thirty seconds.\n',
    'openspec/changes/add-2fa/specs/auth/spec.md':
      '## ADDED Requirements\n\n### Requirement: Second factor\n\nThe system MUST ask for a code.\n\n#### Scenario: Code asked\n\n- **WHEN** the password is right\n- **THEN** the system asks for a code\n',
    'openspec/changes/add-2fa/tasks.md': '## 1. Core\n\n- [ ] 1.1 Generate a code\n- [ ] 1.2 Ask for it\n',
  },
  ito: {
    '.ito/project.md': '# Shop\n',
    '.ito/changes/001-01_add-invoices/proposal.md': '# Add invoices\n\nPrint them.\n',
    '.ito/changes/001-01_add-invoices/tasks.md':
      '# Tasks\n\n## Wave 1\n\n### Task 1.1: Parse orders\n\n- **Status**: [ ] pending\n\n## Wave 2\n\n### Task 2.1: Print invoices\n\n- **Status**: [ ] pending\n',
  },
  specKit: {
    '.specify/memory/constitution.md': '# Constitution\n\nEvery feature has a test.\n',
    'specs/001-photo-albums/spec.md':
      '# Feature Specification: Photo albums\n\n- **FR-001**: System MUST list albums\n',
    'specs/001-photo-albums/plan.md': '# Implementation Plan\n\nPlain JavaScript.\n',
    'specs/001-photo-albums/checklists/requirements.md': '- [x] CHK001 Testable\n- [ ] CHK002 No jargon\n',
    'specs/001-photo-albums/tasks.md':
      '# Tasks\n\n- [ ] T001 Create src/albums.js\n- [ ] T002 [P] [US1] List albums by date\n',
  },
  kiro: {
    '.kiro/steering/tech.md': '# Technology\n\nNo dependencies.\n',
    '.kiro/specs/dark-mode/requirements.md':
      '# Requirements\n\n### Requirement 1: Theme\n\n1. WHEN the system is dark THEN the page SHALL be dark\n',
    '.kiro/specs/dark-mode/design.md': '# Design\n\nOne stylesheet.\n',
    '.kiro/specs/dark-mode/tasks.md':
      '# Implementation Plan\n\n- [ ] 1. Theme\n  - [ ] 1.1 Read the preference\n  - [ ] 1.2 Apply it\n  - [ ]* 1.3 Write a property test\n',
  },
};

/** Finishes a task in its first iteration, and the rest in its second. @type {Assignment} */
const specWork = {
  'add-2fa': twoTasks(
    'openspec/changes/add-2fa/tasks.md',
    ['src/code.js', '1.1 Generate a code'],
    ['src/login.js', '1.2 Ask for it'],
  ),
  '001-photo-albums': twoTasks(
    'specs/001-photo-albums/tasks.md',
    ['src/albums.js', 'T001 Create src/albums.js'],
    ['src/list.js', 'T002 [P] [US1] List albums by date'],
  ),
  'dark-mode': twoTasks(
    '.kiro/specs/dark-mode/tasks.md',
    ['src/theme.js', '1.1 Read the preference'],
    ['src/style.css', '1.2 Apply it'],
  ),
  '001-01_add-invoices': twoTasks(
    '.ito/changes/001-01_add-invoices/tasks.md',
    ['src/orders.js', 'Task 1.1: Parse orders'],
    ['src/invoices.js', 'Task 2.1: Print invoices'],
  ),
};

/** @param {string} tasks @param {[string, string]} first @param {[string, string]} second @returns {import('./agent.mjs').Step[][]} */
function twoTasks(tasks, first, second) {
  return [
    [{ write: first[0], text: total }, { tick: first[1], in: tasks }, { say: 'The first task is done.' }],
    [
      { write: second[0], text: total },
      { tick: second[1], in: tasks },
      { say: 'All tasks are done.\n\n<promise>COMPLETE</promise>' },
    ],
  ];
}

/** Leaves notes for the next iteration. @type {Assignment} */
const handingOver = {
  [change]: [
    [
      { write: 'src/orders.js', text: 'export const parse = (text) => JSON.parse(text);\n' },
      { tick: '1. Parse orders' },
      {
        say: `The parser works, the invoice is next.

<handover>
Done: the parser (src/orders.js)
Next: totals in src/invoices.js, then the README
Tried and failed: streaming the file, the format needs two passes

Patterns:
- Tests run with \`npm test\`
</handover>`,
      },
    ],
    [{ say: 'Now the invoice.' }, { write: 'src/invoices.js', text: total }, { tick: '2. Add up an invoice' }],
  ],
};

const login = '002-01_add-login';
const loginFiles = {
  ...plainFiles,
  ...changeFiles(login, ['1. Store the session', '2. Lock accounts']),
  [`.spool/changes/${login}/proposal.md`]: '# Add a login\n\nCustomers want to see only their own orders.\n',
  [`.spool/changes/${login}/specs/login/spec.md`]: `## ADDED Requirements

${requirement('Remember me', 'The system SHALL remember the user.', ['Stays signed in', 'the browser is restarted', 'the user is still signed in'])}
#### Scenario: Forgets after 30 days

- **WHEN** the user comes back after 31 days
- **THEN** the system asks for the password

${requirement('Password', 'The system SHALL check the password.', ['Signs in', 'the password is right', 'the user is signed in'])}
#### Scenario: Locks after five attempts

- **WHEN** the password is wrong five times
- **THEN** the account is locked
`,
};
const sessions = `export const signIn = (password) => password === 'secret';
export const isLocked = (attempts) => attempts >= 5;
export const isRemembered = (days) => days <= 30;
`;
/** @param {[title: string, id: string, code: string][]} cases */
const loginTest = (...cases) =>
  [
    `import assert from 'node:assert/strict';\nimport test from 'node:test';\nimport * as login from '../src/login.js';\n`,
    ...cases.map(([title, id, code]) => `// @scenario login/${id}\ntest('${title}', () => assert.ok(${code}));`),
  ].join('\n');
/** @type {[string, string, string][]} */
const loginCases = [
  ['stays signed in', 'remember-me/stays-signed-in', 'login.isRemembered(1)'],
  ['signs in', 'password/signs-in', "login.signIn('secret')"],
  ['locks the account', 'password/locks-after-five-attempts', 'login.isLocked(5)'],
];

/** Proves three of four scenarios at first, one of them only after a fix. @type {Assignment} */
const proving = {
  [login]: [
    [
      { write: 'src/login.js', text: sessions.replace('days <= 30', 'days < 1') },
      { write: 'test/login.test.js', text: `${loginTest(...loginCases, ['forgets', 'remember-me/typo', 'true'])}\n` },
      { tick: '1. Store the session' },
      { say: 'The session is stored.\n\n<promise>COMPLETE</promise>' },
    ],
    [
      { write: 'src/login.js', text: sessions },
      {
        write: 'test/login.test.js',
        text: `${loginTest(...loginCases, ['forgets', 'remember-me/forgets-after-30-days', '!login.isRemembered(31)'])}\n`,
      },
      { tick: '2. Lock accounts' },
      { say: 'All scenarios have a test.\n\n<promise>COMPLETE</promise>' },
    ],
  ],
};
const proofFlags = ['--require-scenarios', '--verify', 'node --test --test-reporter=tap'];

/** Opens pull requests like the GitHub CLI. */
const ghPulls = `#!/bin/sh
case "$1 $2" in
  'pr list') echo '[]' ;;
  'pr create') cat > /dev/null; echo https://github.com/acme/shop/pull/7 ;;
  *) exit 1 ;;
esac
`;

/** The shop has a remote on GitHub, which is a folder. @param {Project} project */
const addRemote = (project) => {
  const [url, folder] = ['https://github.com/acme/shop.git', join(dirname(project.folder), 'remote.git')];
  project.git('init', '--quiet', '--bare', '--initial-branch=main', folder);
  project.git('config', '--global', `url.${folder}.insteadOf`, url);
  project.git('remote', 'add', 'origin', url);
  project.git('push', '--quiet', 'origin', 'main');
};

/** An agent of the user's own, which has no output but text. */
const myAgent = `#!/bin/sh
file="$(sed -n 's/^This is a test.* file named \\([^ ]*\\) .*/\\1/p')"
echo "I have written \${file:=orders.js}."
echo 'export const parse = (text) => JSON.parse(text);' > "$file"
echo '<promise>COMPLETE</promise>'
`;
const ownAgent = { 'my-agent': { command: 'my-agent', args: ['run', '--model', '{model}'], allowAllArgs: ['--yes'] } };

/** Asks for a command that nobody allows. @type {Assignment} */
const restricted = {
  [change]: [
    [
      { write: 'src/orders.js', text: 'export const parse = (text) => JSON.parse(text);\n' },
      { say: 'The parser works. I publish it.' },
      { denied: 'npm publish' },
    ],
  ],
};

/** Answers like the GitHub CLI. */
const gh = `#!/bin/sh
cat <<'END'
{"number": 123, "title": "Login fails for names with a space", "state": "OPEN", "url": "https://github.com/acme/shop/issues/123", "body": "I cannot log in as \\"Ada L\\".\\n\\n- [ ] Trim names\\n- [ ] Add a test\\n"}
END
`;

/** Reviews like Codex: it finds something at first, and nothing later. */
const codex = `#!/bin/sh
[ "$1" = --version ] && { echo 'codex-cli 0.166.0'; exit; }
cat > /dev/null
say() { printf '{"type":"item.completed","item":{"type":"agent_message","text":"%s"}}\\n' "$1"; }
run() { printf '{"type":"item.started","item":{"type":"command_execution","command":"%s"}}\\n{"type":"item.completed","item":{"type":"command_execution","command":"%s","status":"completed"}}\\n' "$1" "$1"; }
echo '{"type":"thread.started"}'
say 'I read the proposal and the difference.'
run 'git diff base'
run 'npm test'
if grep -q count src/invoices.js; then
  say 'The count is used, and a test covers it.\\n\\n<verdict>PASS</verdict>'
else
  say '- src/invoices.js:1: total ignores the count of an item; price * count is right\\n- test/: no test has an item with a count above 1\\n\\n<verdict>FAIL</verdict>'
fi
echo '{"type":"turn.completed","usage":{"input_tokens":9100,"output_tokens":450}}'
`;

/** The tests of the first iteration pass, and the work is not right yet. @type {Assignment} */
const hasty = {
  [change]: [
    [
      { write: 'src/invoices.js', text: total.replace('price, count', 'price').replace('price * count', 'price') },
      { write: 'test/invoices.test.js', text: test.replace('count: 2', 'count: 1').replace(', 10)', ', 5)') },
      { say: 'Invoices are done.\n\n<promise>COMPLETE</promise>' },
    ],
    [
      { write: 'src/invoices.js', text: total },
      { write: 'test/invoices.test.js', text: test },
      { say: 'The count is used now.\n\n<promise>COMPLETE</promise>' },
    ],
  ],
};

/** @type {Assignment} */
const oneFile = {
  '*': [
    [
      { write: 'src/orders.js', text: 'export const parse = (text) => JSON.parse(text);\n' },
      { say: 'The parser works.\n\n<promise>COMPLETE</promise>' },
    ],
  ],
};

const onWorker = ['001-01_add-login', '001-02_add-logout'];
/** A spec of two scenarios, which a test in one file proves. @param {string} name */
const workerFiles = (name) => ({
  ...changeFiles(name, ['1. Check the password']),
  [`.spool/changes/${name}/specs/login/spec.md`]: `## ADDED Requirements\n\n${requirement('Password', 'The system SHALL check the password.', ['Signs in', 'the password is right', 'the user is signed in'])}\n#### Scenario: Locks after five attempts\n\n- **WHEN** the password is wrong five times\n- **THEN** the account is locked\n`,
});

/** A project whose changes workers run. */
const queuedProject = () => {
  const settings = { verify: ['node --test --test-reporter=tap'], requireScenarios: true };
  /** @type {import('./agent.mjs').Step[][]} */
  const work = [
    [
      { write: 'src/login.js', text: sessions },
      { write: 'test/login.test.js', text: `${loginTest(...loginCases.slice(1))}\n` },
      { say: 'The password is checked.\n\n<promise>COMPLETE</promise>' },
    ],
  ];
  const project = createProject({
    files: {
      ...plainFiles,
      '.spool/config.json': `${JSON.stringify(settings, null, 2)}\n`,
      ...Object.assign({}, ...onWorker.map(workerFiles)),
    },
    agent: Object.fromEntries(onWorker.map((name) => [name, work])),
    programs: { gh: ghPulls },
  });
  addRemote(project);
  project.spool('trust', '--yes');
  return project;
};

export const openCluster = () => sharedQueue(queuedProject);

/** Each returns a project, ready for the commands of the example. @type {Record<string, () => Promise<Project>>} */
export const scenes = {
  /** A repository that has never seen Spool. */
  repository: async () => createProject({ files: plainFiles, agent: health }),
  /** A project with one change that has not run. */
  project: async () => createProject({ files: projectFiles, agent: night }),
  /** The same, with settings that run commands. */
  untrusted: async () =>
    createProject({
      files: {
        ...projectFiles,
        '.spool/config.json': `${JSON.stringify({ verify: 'npm test', maxCost: 20 }, null, 2)}\n`,
      },
      agent: night,
    }),
  /** An agent that works until the project is closed. */
  steady: async () => createProject({ files: projectFiles, agent: working }),
  /** The morning after. */
  morning: async () => {
    const project = createProject({ files: projectFiles, agent: night });
    project.spool('ralph', '--change', change, '--verify', 'npm test', '--retry-delay', '10ms');
    return project;
  },
  /** A finished change with specs. */
  specs: async () => createProject({ files: specFiles, agent: night }),
  /** A project with several changes, none of which has run. */
  several: async () => createProject({ files: severalFiles, agent: working3 }),
  /** One change is done, and three are running. */
  busy: async () => {
    const project = createProject({ files: { ...severalFiles, ...changeFiles(done, ['1. Fix it']) }, agent: working3 });
    project.spool('ralph', '--change', done);
    project.start('ralph', '--change', '001-01', '--change', '001-02', '--change', '001-03', '--parallel', '3');
    await project.records('001-01_add-invoices', 'npm test');
    await project.records('001-02_add-refunds', 'src/refunds.js');
    await project.records('001-03_export-csv', 'node src/shop.js');
    return project;
  },
  /** A run in its second iteration. */
  running: async () => {
    const project = createProject({ files: projectFiles, agent: working });
    project.start('ralph', '--change', change, '--verify', 'npm test');
    await project.records(change, '"title":"npm test"');
    return project;
  },
  /** A change on its own branch, not landed. */
  branch: async () => {
    const project = createProject({ files: projectFiles, agent: night });
    project.spool('ralph', '--change', change, '--worktree', '--retry-delay', '10ms');
    return project;
  },
  openspec: async () => createProject({ files: { ...plainFiles, ...specs.openspec }, agent: specWork }),
  ito: async () => createProject({ files: { ...plainFiles, ...specs.ito }, agent: specWork }),
  speckit: async () => createProject({ files: { ...plainFiles, ...specs.specKit }, agent: specWork }),
  kiro: async () => createProject({ files: { ...plainFiles, ...specs.kiro }, agent: specWork }),
  /** Several tools, two of which have a change with the same name. */
  sources: async () =>
    createProject({
      files: {
        ...plainFiles,
        ...specs.openspec,
        ...specs.kiro,
        '.kiro/specs/add-2fa/requirements.md': specs.kiro['.kiro/specs/dark-mode/requirements.md'],
      },
      agent: specWork,
    }),
  /** A project with the GitHub CLI. */
  issue: async () => createProject({ files: projectFiles, agent: specWork, programs: { gh } }),
  /** An agent that is done too early, and a reviewer. */
  reviewed: async () => createProject({ files: projectFiles, agent: hasty, programs: { codex } }),
  /** An agent that leaves notes, and the loop has reached its limit. */
  handover: async () => {
    const project = createProject({ files: projectFiles, agent: handingOver });
    project.trySpool('ralph', '--change', change, '--max-iterations', '2');
    return project;
  },
  /** A task file of no tool. */
  plan: async () =>
    createProject({
      files: { ...plainFiles, 'docs/plans/login.md': '# Log in\n\n- [ ] Ask for the password\n- [ ] Check it\n' },
      agent: oneFile,
    }),
  /** An agent that needs a command that it may not run. */
  restricted: async () => createProject({ files: projectFiles, agent: restricted }),
  /** Some scenarios are proven, and the loop has reached its limit. */
  halfProven: async () => {
    const project = createProject({ files: loginFiles, agent: proving });
    project.trySpool('ralph', '--change', login, ...proofFlags, '--max-iterations', '1');
    return project;
  },
  /** All scenarios are proven, on a branch that can be published. */
  proven: async () => {
    const project = createProject({ files: loginFiles, agent: proving, programs: { gh: ghPulls } });
    addRemote(project);
    project.spool('ralph', '--change', login, ...proofFlags, '--worktree');
    return project;
  },
  /** The changes of a queue, both complete. It is closed with the queue. */
  cluster: async () => {
    const { project, env } = await openCluster();
    return { ...project, env, close: async () => {} };
  },
  /** A custom agent that the user trusts. */
  custom: async () => {
    const files = { ...projectFiles, '.spool/config.json': `${JSON.stringify({ harnesses: ownAgent }, null, 2)}\n` };
    const project = createProject({ files, agent: night, programs: { 'my-agent': myAgent } });
    project.spool('trust', '--yes');
    return project;
  },
  /** The programs of docs/library.md, compiled, and an agent for their change. */
  library: async () => {
    const files = changeFiles('002-01_add-ralph-loop', ['1. Write a file']);
    const project = createProject({ files: { ...plainFiles, ...files, '.gitignore': ignored }, agent: oneFile });
    mkdirSync(join(project.folder, 'node_modules'));
    symlinkSync(root, join(project.folder, 'node_modules', 'spool-ralph'));
    const page = readFileSync(join(root, 'docs', 'library.md'), 'utf8');
    const programs = [...page.matchAll(/```ts\n\/\/ (\w+\.ts)\n([\s\S]*?)```/g)];
    for (const [, name = '', text = ''] of programs) writeFileSync(join(project.folder, name), text);
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['--noCheck', '--module', 'nodenext', '--target', 'es2023'];
    const names = programs.map(([, name = '']) => name);
    execFileSync(process.execPath, [compiler, ...options, ...names], { cwd: project.folder, stdio: 'inherit' });
    return project;
  },
};
