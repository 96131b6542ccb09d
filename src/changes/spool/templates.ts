export const moduleTemplate = (id: string, slug: string) => `# Module ${id}: ${titleOf(slug)}

## Purpose

<!-- One or two sentences: what the changes of this module have in common, and for whom. -->

## Scope

<!-- What belongs here, and what does not. -->

## Rules

<!-- What holds for every change in it: conventions, files that must not be touched, how to run the tests. -->
`;

export const proposalTemplate = (id: string, slug: string) => `# ${titleOf(slug)}

<!-- This proposal is given to the agent in every iteration of \`spool ralph --change ${id}\`. -->

## Why

<!-- The problem, and who has it. One paragraph. -->

## What Changes

<!-- What will be different for the user, as a list. Name commands, messages, files. -->

-

## Out of Scope

<!-- What the agent should leave alone, even if it looks tempting. -->

-

## Done When

<!-- How anybody can check it: commands that must pass, behaviour that must be seen. -->

-
`;

/** Whether nothing but the title of the template was edited, so that an agent would have nothing to do. */
export const isUntouchedProposal = (text: string): boolean => {
  const written = (markdown: string) =>
    withoutComments(markdown)
      .replace(/^\uFEFF/, '')
      .split(/\r\n?|\n/)
      .map((line) => line.trim())
      .filter((line) => !/^(?:[-*+]|#\s.*|#)?$/.test(line));
  const headings = new Set(written(proposalTemplate('', '')));
  const lines = written(text);
  return lines.length > 0 && lines.every((line) => headings.has(line));
};

const withoutComments = (markdown: string): string => {
  let shown = '';
  let at = 0;
  for (;;) {
    const start = markdown.indexOf('<!--', at);
    const end = start === -1 ? -1 : markdown.indexOf('-->', start);
    if (end === -1) return shown + markdown.slice(at);
    shown += markdown.slice(at, start);
    at = end + '-->'.length;
  }
};

export const tasksTemplate = (slug: string) => `# Tasks: ${titleOf(slug)}

<!-- One box for each piece of work that can be finished and verified on its own. The agent ticks them. -->

- [ ] 1. Write a test that fails without this change
- [ ] 2. Make it pass
- [ ] 3. Bring the documentation up to date
`;

const titleOf = (slug: string) => {
  const words = slug.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};
