import { lastSaved } from '../../changes/tasks/current.ts';
import { changeOf } from '../../changes/sources.ts';
import { textInside } from '../../files/inside.ts';
import { editorOf } from '../../process/editor.ts';
import { isResumable } from '../../ralph/view.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';
import { confirmOn } from '../user/consent.ts';
import { editFile } from '../user/edit.ts';

/**
 * Offers to open the proposals that are still the template, which a run rejects. Asks nothing without an editor, and
 * nothing about a run that would be resumed.
 */
export const editTemplates = async (
  invocation: Invocation,
  project: Project,
  ids: readonly string[],
): Promise<void> => {
  const { env, terminal } = invocation;
  const confirm = confirmOn(terminal);
  const editor = editorOf(env);
  if (confirm === null || editor === null) return;
  for (const id of ids) {
    const { proposalFile, isTemplate } = await changeOf(project, id);
    if (!isTemplate(textInside(project.root, proposalFile) ?? '')) continue;
    const view = (await lastSaved(project, id))?.view ?? null;
    if (view !== null && isResumable(view)) continue;
    if (await confirm(`${proposalFile} is still the empty template. Open it with ${editor}?`))
      await editFile(invocation, project, proposalFile);
  }
};
