import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSpecTree, specKitTree } from '../fixtures/specs/trees.ts';
import { createAgentProject } from '../support/agent.ts';

const formats = [
  { source: 'openspec', id: 'add-2fa', tree: openSpecTree, tasks: 'openspec/changes/add-2fa/tasks.md' },
  { source: 'spec-kit', id: '001-photo-albums', tree: specKitTree, tasks: 'specs/001-photo-albums/tasks.md' },
];

test.each(formats)('the real OpenCode finishes a change of $source in place', async ({ id, source, tree, tasks }) => {
  const project = await createAgentProject('opencode', ({ iteration, step }, folder) => {
    const file = join(folder, tasks);
    if (step > 0)
      return { text: iteration === 1 ? 'One task is left.' : 'All is done.\n\n<promise>COMPLETE</promise>' };
    const tick = iteration === 1 ? `sed -i '0,/\\[ \\]/s//[X]/' '${file}'` : `sed -i 's/^- \\[ \\]/- [X]/' '${file}'`;
    return {
      text: `Task ${iteration}.`,
      tools: [{ write: join(folder, `part-${iteration}.txt`), content: `${iteration}\n` }, { shell: tick }],
    };
  });
  for (const [name, text] of Object.entries(tree)) project.write(name, text);
  project.git('add', '--all');
  project.git('commit', '--quiet', '-m', 'specs');

  const result = await project.run('ralph', id, '--require-tasks');

  expect(result.stderr).toContain(`✔ ${id}  Complete`);
  expect(result.code).toBe(0);
  expect(project.state(id)).toMatchObject({ source, status: 'complete', tasks: { done: 2, total: 2 } });
  const touched = project.git('diff', '--name-only', 'HEAD~2').split('\n');
  expect(touched.toSorted()).toEqual([tasks, 'part-1.txt', 'part-2.txt'].toSorted());
  expect(project.read(tasks).replaceAll('[X]', '[ ]')).toBe(tree[tasks as keyof typeof tree]);
});
