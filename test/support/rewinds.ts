import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { waitsFor } from './agents.ts';
import { eventually } from './eventually.ts';
import { change, createProject, type TestProject } from './project.ts';

const run = ['ralph', '--change', change, '--max-stalled', 'unlimited'];

/** Every file in a folder except .git and .spool, with its kind, mode and content. Names are bytes. */
export const treeOf = (folder: string): Record<string, string> => {
  const found: Record<string, string> = {};
  const walk = (path: Buffer, name: string) => {
    for (const entry of readdirSync(path, { encoding: 'buffer' })) {
      const below = Buffer.concat([path, Buffer.from('/'), entry]);
      const key = `${name}${entry.toString('latin1')}`;
      if (key === '.git' || key === '.spool') continue;
      const stats = lstatSync(below);
      if (stats.isDirectory()) walk(below, `${key}/`);
      else if (stats.isSymbolicLink()) found[key] = `link ${readlinkSync(below, 'latin1')}`;
      else found[key] = `${stats.mode & 0o111 ? 'x' : '-'} ${readFileSync(below, 'latin1')}`;
    }
  };
  walk(Buffer.from(folder), '');
  return found;
};

export const gitState = (project: TestProject) => ({
  head: project.git('rev-parse', 'HEAD'),
  branch: project.git('symbolic-ref', 'HEAD'),
  index: project.git('ls-files', '--stage'),
  stash: project.git('stash', 'list'),
});

const waitFor = (file: string): Promise<void> => eventually(() => existsSync(file), file);

/** Checks that a rewind restores the tree of every iteration, for any tree, and changes nothing else. */
export const rewindsExactly = async (parameters: { numRuns: number; seed?: number }): Promise<void> => {
  const name = fc.constantFrom(
    'a',
    'b',
    'dir/a',
    'dir/b',
    'dir/deep/c',
    'sp ace',
    'qu"ote',
    'new\nline',
    'ta\tb',
    'ümlaut',
    '*star',
    ':colon',
    '-dash',
    'back\\slash',
    'caf\xe9',
    '\xff\xfe',
  );
  const content = fc.constantFrom('', 'x\n', 'line\nline\n', '\0binary\xff', 'crlf\r\n');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('write' as const), name, content, executable: fc.boolean() }),
    fc.record({ kind: fc.constant('link' as const), name, content: fc.constantFrom('a', '../outside', 'no such') }),
    fc.record({ kind: fc.constant('delete' as const), name }),
  );
  const iterations = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 4 });

  await fc.assert(
    fc.asyncProperty(iterations, fc.array(step, { maxLength: 3 }), async (rounds, dirt) => {
      const project = createProject();
      const apply = (steps: typeof dirt) => {
        for (const each of steps) {
          const path = Buffer.concat([Buffer.from(`${project.folder}/`), Buffer.from(each.name, 'latin1')]);
          const folder = path.subarray(0, path.lastIndexOf('/'));
          rmSync(path as unknown as string, { recursive: true, force: true });
          if (each.kind === 'delete') continue;
          mkdirSync(folder as unknown as string, { recursive: true });
          if (each.kind === 'link') symlinkSync(each.content, path);
          else {
            writeFileSync(path, Buffer.from(each.content, 'latin1'));
            chmodSync(path, each.executable ? 0o755 : 0o644);
          }
        }
      };
      apply(dirt);
      const before = gitState(project);
      const trees = [treeOf(project.folder)];
      const agent = waitsFor('../home/next');
      writeFileSync(join(project.home, 'agent', '1.sh'), `echo ready > "$HOME/ready"; ${agent}; rm "$HOME/next"`);
      const loop = project.start([...run, '--no-commit', '--max-iterations', String(rounds.length), '--no-stream']);
      for (const round of rounds) {
        await waitFor(join(project.home, 'ready'));
        rmSync(join(project.home, 'ready'));
        apply(round);
        trees.push(treeOf(project.folder));
        writeFileSync(join(project.home, 'next'), '');
      }
      expect(await loop.result).toMatchObject({ code: 3 });
      expect(gitState(project)).toEqual(before);

      for (const n of [...trees.keys()].toReversed()) {
        expect(await project.spool('rewind', change, String(n))).toMatchObject({ code: 0 });
        expect(treeOf(project.folder)).toEqual(trees[n]);
      }
      expect(gitState(project)).toEqual(before);
    }),
    { ...parameters, endOnFailure: true },
  );
};
