import { join } from 'node:path';
import { editorOf, openEditor } from '../../process/editor.ts';
import type { Project } from '../../store/project.ts';
import { say } from '../../report/message.ts';
import type { Invocation } from '../registry/command.ts';

type EditRequest = Pick<Invocation, 'cwd' | 'env' | 'terminal'>;

/** Opens a file of a project in the editor of the user. Says why if it cannot. `file` is relative to the project. */
export const editFile = async (request: EditRequest, project: Project, file: string): Promise<void> => {
  const problem = await edit(request, join(project.root, file));
  if (problem !== null) say(request.terminal, `No editor for ${file}: ${problem}.`);
};

/** Returns why the file could not be edited, or null. */
const edit = async ({ cwd, env, terminal }: EditRequest, file: string): Promise<string | null> => {
  if (!terminal.canPrompt) return 'there is no terminal';
  const editor = editorOf(env);
  if (editor === null) return 'neither VISUAL nor EDITOR is set';
  const failed = await openEditor(editor, file, { cwd, env });
  return failed === null ? null : `${editor} failed (${failed})`;
};
