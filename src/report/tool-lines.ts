import { displayKind } from '../text/display-kind.ts';
import { oneLine } from './shorten.ts';
import type { Symbols } from './symbols.ts';

/** `$ npm test`, `✎ src/a.ts`, `→ grep TODO`: a tool call in one line. */
export const toolText = (
  { tool, title }: { readonly tool: string; readonly title: string },
  { symbols, root }: { readonly symbols: Symbols; /** Its paths are shown without it. */ readonly root: string | null },
): string => {
  const about = oneLine(root === null ? title : title.replaceAll(`${root}/`, ''), 500).trim();
  const name = oneLine(tool, 100);
  if (about === '') return `${symbols.other} ${name}`;
  switch (displayKind(name)) {
    case 'shell':
      return `$ ${about}`;
    case 'edit':
      return `${symbols.edit} ${about}`;
    case 'other':
      return `${symbols.other} ${name} ${about}`;
  }
};
