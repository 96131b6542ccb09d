import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgentProject } from '../support/agent.ts';
import { change } from '../support/project.ts';
import {
  gitOfAnyone,
  leavesDaemons,
  newMark,
  oneUser,
  processesNamed,
  sandboxProblem,
  startAs,
  startHost,
} from '../support/sandbox.ts';

const problem = sandboxProblem();
const title = 'the real OpenCode with --allow-all --sandbox cannot escape, and the loop completes';

if (problem !== null)
  test('reports what is skipped', () => void process.stderr.write(`\nSKIPPED: ${title} (${problem})\n`));
else
  test.each([oneUser()])(`${title}, as $title`, async (user) => {
    const mark = newMark();
    const host = await startHost();
    const outside = (folder: string) => join(dirname(folder), 'outside');
    const project = await createAgentProject('opencode', ({ iteration, step }, folder) => {
      if (iteration === 2) return { text: 'All is done.\n\n<promise>COMPLETE</promise>' };
      const commands = [
        `echo planted > '${outside(folder)}/by-shell.txt'`,
        'cat ~/.ssh/id_ed25519 > key.txt',
        `curl -sS -m 5 http://127.0.0.2:${host.port}/secret > reached.txt`,
        'echo evil > .git/hooks/pre-commit',
        leavesDaemons(mark),
        'echo work > work.txt',
      ];
      const tools = [
        { write: join(outside(folder), 'by-tool.txt'), content: 'planted\n' },
        { shell: commands.join('\n') },
        { write: join(folder, 'by-tool.txt'), content: 'work\n' },
      ];
      return step === 0 ? { text: 'I do as I am told.', tools } : { text: 'More is to be done.' };
    });
    mkdirSync(outside(project.folder));
    mkdirSync(join(project.home, '.ssh'));
    writeFileSync(join(project.home, '.ssh', 'id_ed25519'), 'PRIVATE-KEY\n');

    const args = ['ralph', 'Go.', '--change', change, '--allow-all', '--sandbox', ...project.chosen];
    const result = await startAs(user, project, { args, env: {} }).result;

    expect(result).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([{ completionFound: false }, { completionFound: true }]);
    for (const name of ['by-shell.txt', 'by-tool.txt'])
      expect(existsSync(join(outside(project.folder), name))).toBe(false);
    expect(project.read('key.txt')).toBe('');
    expect(host.reached).toEqual([]);
    expect(project.exists('.git/hooks/pre-commit')).toBe(false);
    expect(processesNamed(mark)).toEqual([]);
    expect(gitOfAnyone(project)('show', '--name-only', '--format=', 'HEAD').split('\n')).toEqual(
      expect.arrayContaining(['by-tool.txt', 'work.txt']),
    );
    const log = readFileSync(project.stateFile(`runs/${project.state().run}/0001.log`), 'utf8');
    expect(log).toMatch(/Read-only file system|EROFS/);
    expect(log).not.toContain('PRIVATE-KEY');
  });
