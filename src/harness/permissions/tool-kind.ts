import { shellTools } from '../../text/shell-names.ts';
import type { ToolKind } from './rule.ts';

/** The kind by which permissions are decided, by the names that agents give to tools; `other` if it is not known. */
export const permissionKind = (tool: string): ToolKind => kinds.find(([pattern]) => pattern.test(tool))?.[1] ?? 'other';

const kinds: readonly (readonly [RegExp, ToolKind])[] = [
  [new RegExp(`^(?:${shellTools})$`, 'i'), 'execute'],
  [/^(?:write|edit|multiedit|notebookedit|patch|apply_patch|create|str_replace|external_directory)$/i, 'edit'],
  [/^(?:read|glob|grep|ls|list|view)$/i, 'read'],
  [/^web_?fetch$/i, 'fetch'],
];
