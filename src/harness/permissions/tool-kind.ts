import type { ToolKind } from './rule.ts';

/** What a tool does, by the names that agents give it; `other` if it is not known. */
export const toolKind = (tool: string): ToolKind => kinds.find(([pattern]) => pattern.test(tool))?.[1] ?? 'other';

const kinds: readonly (readonly [RegExp, ToolKind])[] = [
  [/^(?:bash|shell|execute|run_shell_command|terminal)$/i, 'execute'],
  [/^(?:write|edit|multiedit|notebookedit|patch|apply_patch|create|str_replace|external_directory)$/i, 'edit'],
  [/^(?:read|glob|grep|ls|list|view)$/i, 'read'],
  [/^web_?fetch$/i, 'fetch'],
];
