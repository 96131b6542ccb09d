// npm run prove: proves the specification of this repository with Spool itself. In a clone, the specs are those of a change,
// and a scripted agent says that it is done. What counts is the gate: it runs test/scenarios, in which every test names its
// scenario. Prints the proof, and writes it to .ci/artefacts/proof.html. Fails unless every scenario is proven.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const change = '000-01_specification';
const verify =
  'npx vitest run test/scenarios --reporter=default --reporter=json --outputFile.json="$SPOOL_REPORTS/vitest.json"';

const base = mkdtempSync(join(tmpdir(), 'spool-prove-'));
const [clone, home] = [join(base, 'spool'), join(base, 'home')];
const env = {
  ...process.env,
  HOME: home,
  PATH: [join(root, 'test', 'fixtures', 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
  XDG_STATE_HOME: '',
};

/** @param {string} name @param {string} text */
const write = (name, text) => {
  const path = join(clone, '.spool', 'changes', change, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** The specs as those of a change: all of their requirements are added. */
const createChange = () => {
  const names = readdirSync(join(clone, 'specs')).filter((name) => name.endsWith('.md'));
  for (const name of names) {
    const text = readFileSync(join(clone, 'specs', name), 'utf8').replace(/^# .*\n/, '## ADDED Requirements\n');
    write(`specs/${basename(name, '.md')}/spec.md`, text);
  }
  write('proposal.md', '# The specification of Spool\n\nEvery scenario has a test.\n');
};

/** @param {...string} args */
const spool = (...args) =>
  spawnSync(process.execPath, [join(root, 'dist', 'spool.cjs'), ...args], { cwd: clone, env, stdio: 'inherit' }).status;

try {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
  mkdirSync(join(home, 'agent'), { recursive: true });
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Spool\n\temail = spool@example.com\n');
  writeFileSync(join(home, 'agent', '1.sh'), `echo '<promise>COMPLETE</promise>'\n`);
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  cpSync(join(root, 'dist'), join(clone, 'dist'), { recursive: true });
  createChange();
  const run = spool(
    'ralph',
    change,
    '--agent',
    'opencode',
    '--max-iterations',
    '1',
    '--require-scenarios',
    '--verify',
    verify,
  );
  const proof = spool('proof', change);
  const artefacts = join(root, '.ci', 'artefacts');
  mkdirSync(artefacts, { recursive: true });
  spool('proof', change, '--html', '--output', join(artefacts, 'proof.html'));
  process.exitCode = run === 0 && proof === 0 ? 0 : 1;
} finally {
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
}
