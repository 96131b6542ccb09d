import { shellTools } from './shell-names.ts';

const shells = new RegExp(
  `^(?:${shellTools}|sh|zsh|powershell|exec|(?:run_?|local_)?(?:shell|terminal)(?:_?command)?|(?:run|execute)_?(?:command|bash))$`,
  'i',
);
const editors =
  /^(?:edit|write|multi_?edit|patch|apply_?patch|notebook_?edit|replace|str_?replace|create|insert|delete)(?:_?(?:file|tool|based_edit_tool|editor))?$/i;

/** How a tool of an agent is shown, by its name: a wrong guess only changes a symbol. */
export const displayKind = (name: string): 'shell' | 'edit' | 'other' => {
  if (shells.test(name)) return 'shell';
  return editors.test(name) ? 'edit' : 'other';
};
