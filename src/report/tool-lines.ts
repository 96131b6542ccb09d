import { oneLine } from './shorten.ts';
import type { Symbols } from './symbols.ts';

const shells =
  /^(?:bash|shell|sh|zsh|powershell|exec(?:ute)?|(?:run_?|local_)?(?:shell|terminal)(?:_?command)?|(?:run|execute)_?(?:command|bash))$/i;
const editors =
  /^(?:edit|write|multi_?edit|patch|apply_?patch|notebook_?edit|replace|str_?replace|create|insert|delete)(?:_?(?:file|tool|based_edit_tool|editor))?$/i;

/** `$ npm test`, `✎ src/a.ts`, `→ grep TODO`: a tool call in one line. */
export const toolText = (
  { tool, title }: { readonly tool: string; readonly title: string },
  { symbols, root }: { readonly symbols: Symbols; /** Its paths are shown without it. */ readonly root: string | null },
): string => {
  const about = oneLine(root === null ? title : title.replaceAll(`${root}/`, ''), 500).trim();
  const name = oneLine(tool, 100);
  if (about === '') return `${symbols.other} ${name}`;
  if (shells.test(name)) return `$ ${about}`;
  if (editors.test(name)) return `${symbols.edit} ${about}`;
  return `${symbols.other} ${name} ${about}`;
};
