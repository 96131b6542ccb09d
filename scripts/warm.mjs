// Starts the built program a few times, so that the compiled code of the common commands is stored beside it. The tests
// and the first start of a clone take less time then. See docs/performance.md.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const change = '001-01_warm';

/** @param {string} program */
export const warm = (program) => {
  if (process.platform === 'win32') return;
  const base = mkdtempSync(join(tmpdir(), 'spool-warm-'));
  try {
    const project = createProject(base);
    for (const args of [
      ['--help'],
      ['ralph', '--change', change, '--max-iterations', '3'],
      ['ralph', '--status', '--change', change],
      ['list'],
    ])
      spawnSync(process.execPath, [program, ...args], { ...project, stdio: 'ignore' });
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
};

/** A repository with a change, and an agent that works on it and prints the promise. @param {string} base */
const createProject = (base) => {
  const write = (/** @type {string} */ name, /** @type {string} */ text, mode = 0o644) => {
    mkdirSync(dirname(join(base, name)), { recursive: true });
    writeFileSync(join(base, name), text, { mode });
  };
  write(`project/.spool/changes/${change}/proposal.md`, '# A change\n');
  write('.gitconfig', '[user]\n\tname = Warm\n\temail = warm@example.com\n');
  write('bin/opencode', '#!/bin/sh\necho more >> work.txt\necho "<promise>COMPLETE</promise>"\n', 0o755);
  const path = [join(base, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter);
  const options = { cwd: join(base, 'project'), env: { PATH: path, HOME: base, SPOOL_AGENT_MODE: 'cold' } };
  execFileSync('sh', ['-c', 'git init --quiet && git add --all && git commit --quiet -m start'], {
    ...options,
    stdio: 'ignore',
  });
  return options;
};
