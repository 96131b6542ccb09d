import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAgentProject } from '../support/agent.ts';
import { change } from '../support/project.ts';

const once = ['ralph', 'Go.', '--change', change, '--max-iterations', '1'];

/** Agents that can be told permission rules. Rules are announced to users of the others. */
const toldAll = ['opencode', 'claude', 'copilot'];
const toldDenials = ['qwen'];

/** One step for each tool: an allowed edit, an allowed command, and a denied command. */
const tools = (folder: string) => [
  { write: `${folder}/made.txt`, content: 'x\n' },
  { shell: 'touch one.txt' },
  { shell: 'mkdir denied' },
];

const start = (name: string) =>
  createAgentProject(name, ({ step }, folder) => {
    const tool = tools(folder)[step];
    return tool ? { text: 'I work.', tools: [tool] } : { text: 'All is done.' };
  });

describe('permission rules of Spool', () => {
  test.each(toldAll)('%s is told what is allowed and denied', async (name) => {
    const project = await start(name);
    const rules = ['--allow', 'Edit(./made.txt)', '--allow', 'Bash(touch:*)', '--deny', 'Bash(mkdir:*)'];

    const { stderr } = await project.run(...once, ...rules);

    expect(stderr).not.toContain('cannot be told');
    expect({
      edited: project.exists('made.txt'),
      ran: project.exists('one.txt'),
      denied: project.exists('denied'),
    }).toEqual({ edited: true, ran: true, denied: false });
  });

  test.each(toldAll)('%s: the rule that a denial suggests allows what was denied', async (name) => {
    const project = await createAgentProject(name, ({ step }, folder) =>
      step === 0
        ? { text: 'I write.', tools: [{ write: `${folder}/../outside.txt`, content: 'x\n' }] }
        : { text: 'All is done.' },
    );
    const outside = () => existsSync(join(project.folder, '..', 'outside.txt'));

    await project.run(...once);
    expect(outside()).toBe(false);
    const rule = /add "([^"]+)" to "permissions\.allow"/.exec(project.history()[0]!.denied!.message)?.[1];
    await project.run(...once, '--allow', rule!);

    expect(outside()).toBe(true);
  });

  test.each([...toldAll, ...toldDenials])('%s is told what is denied with --allow-all', async (name) => {
    const project = await start(name);

    await project.run(...once, '--allow-all', '--deny', 'Bash(mkdir:*)');

    expect({ ran: project.exists('one.txt'), denied: project.exists('denied') }).toEqual({ ran: true, denied: false });
  });
});
