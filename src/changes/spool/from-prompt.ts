import { joinLines } from '../../text/format.ts';

/** The proposal of a change that was started with a prompt, which is the goal and is included unchanged. */
export const promptProposal = (title: string, text: string) => `# ${title}

## Goal

${text.trim()}
`;

/** One task, for a run that requires tasks. */
export const promptTasks = (title: string) => `# Tasks: ${title}

- [ ] 1. ${title}
`;

const maxTitle = 72;

/** The first line of a prompt, or as many of its words as fit. */
export const promptTitle = (text: string): string => {
  const line = joinLines(text.trim().split(/[\r\n]/)[0]!)
    .replace(/^[\s#>*-]+/, '')
    .trimEnd();
  if (line.length <= maxTitle) return line || 'Change';
  const cut = line.slice(0, maxTitle);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 0)) || cut}…`;
};
