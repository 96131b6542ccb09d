/**
 * Whether agents take instructions or settings from a file of a project by themselves, or git what it shows of a
 * difference. The agent whose work is reviewed may have written it to influence the reviewer.
 */
export const instructsAgents = (name: string): boolean => patterns.some((pattern) => pattern.test(name));

const patterns = [
  /(?:^|\/)(?:agents?|claude|gemini|qwen|copilot-instructions)(?:\.\w+)?\.md$/i,
  /(?:^|\/)\.(?:agents?|amp|claude|codex|copilot|cursor|gemini|opencode|pi|qwen)\//i,
  /(?:^|\/)(?:opencode\.jsonc?|\.mcp\.json|\.cursorrules)$/i,
  /^\.github\/instructions\//i,
  /(?:^|\/)\.gitattributes$/i,
];
