const shells =
  /^(?:bash|shell|sh|zsh|powershell|exec(?:ute)?|(?:run_?|local_)?(?:shell|terminal)(?:_?command)?|(?:run|execute)_?(?:command|bash))$/i;
const editors =
  /^(?:edit|write|multi_?edit|patch|apply_?patch|notebook_?edit|replace|str_?replace|create|insert|delete)(?:_?(?:file|tool|based_edit_tool|editor))?$/i;

/** What a tool of an agent does, by its name. */
export const toolKind = (name: string): 'shell' | 'edit' | 'other' => {
  if (shells.test(name)) return 'shell';
  return editors.test(name) ? 'edit' : 'other';
};
