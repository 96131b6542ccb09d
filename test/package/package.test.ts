import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { expect, onTestFinished, test } from 'vitest';
import { missingEntries } from '../../scripts/complete-lock.mjs';
import { promise } from '../support/agents.ts';
import { change, createProject, root, startProcess } from '../support/project.ts';

const npm = (args: string[], home: string) =>
  execFileSync('npm', [...args, '--loglevel=error'], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: home },
    encoding: 'utf8',
  });

test('the lock file lists the platform packages of every platform', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; os?: string[]; cpu?: string[] }>;
  };
  expect(missingEntries(packages)).toEqual([]);
  const listed = (start: string, os: string, cpu: string) =>
    Object.entries(packages).some(
      ([path, entry]) => path.startsWith(`node_modules/${start}`) && entry.os?.includes(os) && entry.cpu?.includes(cpu),
    );
  for (const tool of [
    '@rolldown/binding-',
    '@oxlint/binding-',
    '@typescript/typescript-',
    '@lydell/node-pty-',
    'opencode-',
  ])
    for (const [os, cpu] of [
      ['darwin', 'arm64'],
      ['darwin', 'x64'],
      ['win32', 'x64'],
      ['win32', 'arm64'],
      ['linux', 'x64'],
      ['linux', 'arm64'],
    ] as const)
      expect([tool, os, cpu, listed(tool, os, cpu)]).toEqual([tool, os, cpu, true]);
});

test('the packed tarball installs globally without dependencies, works, and passes publint', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spool-package-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));

  // The program is already built. Building it here would replace it during other tests.
  const [packed] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], folder)) as [
    { filename: string; files: { path: string }[] },
  ];
  const shipped = packed.files
    .map((file) => file.path.replace(/^(dist\/web\/app)-[\da-f]{10}\./, '$1-<hash>.'))
    .filter((path) => !path.startsWith('dist/chunks/'));
  expect(shipped.toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'dist/config.schema.json',
    'dist/events.schema.json',
    'dist/index.cjs',
    'dist/main.cjs',
    'dist/sandbox.cjs',
    'dist/spool.1',
    'dist/spool.cjs',
    'dist/third-party-licences.txt',
    'dist/types/harness/agent-function.d.ts',
    'dist/types/index.d.ts',
    'dist/types/ralph/agent-events.d.ts',
    'dist/types/ralph/control.d.ts',
    'dist/types/ralph/events.d.ts',
    'dist/types/ralph/plan.d.ts',
    'dist/types/ralph/promise/tags.d.ts',
    'dist/types/ralph/proof.d.ts',
    'dist/types/ralph/record.d.ts',
    'dist/types/ralph/totals.d.ts',
    'dist/types/ralph/view.d.ts',
    'dist/types/store/project.d.ts',
    ...['app-<hash>.css', 'app-<hash>.js', 'index.html'].map((name) => `dist/web/${name}.br`),
    'package.json',
  ]);

  npm(['install', '--global', '--offline', '--prefix', folder, join(folder, packed.filename)], folder);
  const project = createProject({ agent: [promise] });
  const run = (...args: string[]) =>
    startProcess(join(folder, 'bin', 'spool'), args, { cwd: project.folder, env: project.env }).result;

  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
  };
  expect(await run('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  expect(readFileSync(join(folder, 'share/man/man1/spool.1'), 'utf8')).toContain('.SH NAME');
  expect(await run('ralph', 'Build it.', '--change', change)).toMatchObject({ code: 0 });

  const installed = join(folder, 'lib', 'node_modules', name);
  expect((await publint({ pkgDir: installed, strict: true, pack: false })).messages).toEqual([]);
});
