import type { RunEvent } from '../ralph/events.ts';
import { agentKey } from '../ralph/plan.ts';
import { createMarkdown } from './markdown.ts';
import type { Symbols } from './symbols.ts';
import { toolText } from './tool-lines.ts';

/** What a run does, by its last event; null if the event does not say. */
export const activityText = (event: RunEvent, shown: Parameters<typeof toolText>[1]): string | null => {
  switch (event.type) {
    case 'reviewer':
    case 'agent':
      switch (event.event.type) {
        case 'tool':
          return toolText(event.event, shown);
        case 'text':
        case 'reasoning':
          return lastLine(event.event.text, shown.symbols);
        case 'error':
        case 'denied':
          return event.event.message;
        case 'tool-result':
        case 'usage':
        case 'stderr':
          return null;
        default:
          return event.event satisfies never;
      }
    case 'gate-started':
      return `verifying: ${event.commands.join('; ')}`;
    case 'review-started':
      return `review by ${agentKey(event.agent)} started`;
    case 'review-finished':
      return `review by ${agentKey(event.review)} finished`;
    case 'waiting':
      return `waiting: ${event.why}`;
    case 'iteration-started':
      return `iteration ${event.iteration} started`;
    case 'iteration-finished':
      return `iteration ${event.record.iteration} finished`;
    case 'run-ended':
      return event.detail;
    case 'notice':
      return event.text;
    default:
      return null;
  }
};

/** Without the marks of Markdown, as the live view shows it. */
const lastLine = (text: string, symbols: Symbols): string | null => {
  const line = text
    .split('\n')
    .findLast((each) => each.trim() !== '')
    ?.trim();
  if (line === undefined) return null;
  return createMarkdown(symbols)(line)
    .spans.map((span) => span.text)
    .join('');
};
