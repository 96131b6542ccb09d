import type { AgentEvent } from '../ralph/agent-events.ts';
import { withoutControls } from '../text/controls.ts';
import { createMarkdown } from './markdown.ts';
import { createOpenLine, type LineSink } from './open-line.ts';
import { oneLine, truncate } from './shorten.ts';
import type { Terminal } from './terminal.ts';
import { toolText } from './tool-lines.ts';
import { wrap, wrapSpans } from './wrap.ts';

export interface AgentLineOptions {
  /** Also show reasoning. */
  readonly verbose: boolean;
  /** The folder of the agent. */
  readonly root: () => string | null;
}

/** The maximum length of a tool call in a log. */
const maxToolText = 200;

/** Renders what an agent says and does. */
export const createAgentLines = (terminal: Terminal, sink: LineSink, { verbose, root }: AgentLineOptions) => {
  const { style, symbols } = terminal;
  const openLine = createOpenLine(terminal, sink);

  const print = (line: string) => {
    openLine.end();
    sink.print(`${line}\n`);
  };
  const log = (line: string) => {
    openLine.end();
    sink.log(`${line}\n`);
  };

  const printMessage = (text: string) => {
    const message = withoutLineEnd(withoutControls(text));
    print(terminal.isInteractive ? message.split('\n').map(createLineRenderer(terminal)).join('\n') : message);
  };
  const printTool = (event: AgentEvent & { type: 'tool' }) => {
    const columns = terminal.isInteractive ? terminal.columns : maxToolText;
    print(style('cyan', truncate(`  ${toolText(event, { symbols, root: root() })}`, columns, symbols.ellipsis)));
  };
  const printDenial = ({ tool, reason }: AgentEvent & { type: 'denied' }) => {
    const columns = terminal.isInteractive ? terminal.columns : maxToolText;
    const text = `  ! ${oneLine(tool)} denied${reason === undefined ? '' : `: ${oneLine(reason)}`}`;
    print(style('red', truncate(text, columns, symbols.ellipsis)));
  };

  return {
    endLine: openLine.end,
    show(event: AgentEvent): void {
      switch (event.type) {
        case 'text':
          return event.plain ? openLine.print(event.text) : printMessage(event.text);
        case 'tool':
          return printTool(event);
        case 'tool-result':
          return event.failed && !event.denied ? print(style('red', `  ! ${oneLine(event.tool)} failed`)) : undefined;
        case 'denied':
          return printDenial(event);
        case 'error':
          return log(style('red', `  ! ${oneLine(event.message)}`));
        case 'stderr':
          return event.text.trim() === '' ? undefined : log(style('dim', `  ${withoutControls(event.text)}`));
        case 'reasoning':
          return verbose ? print(style('dim', withoutLineEnd(withoutControls(event.text)))) : undefined;
        case 'usage':
          return;
        default:
          return event satisfies never;
      }
    },
  };
};

/** Wraps the lines of a message, and shows its Markdown if the terminal has colors. */
const createLineRenderer = (terminal: Terminal): ((line: string) => string) => {
  const { columns, hasColor, style, symbols } = terminal;
  if (!hasColor) return (line) => (line.includes('\t') ? line : wrap(line, columns).join('\n'));
  const markdown = createMarkdown(symbols);
  return (line) => {
    const { spans, indent } = markdown(line);
    const rows = indent === null ? [spans] : wrapSpans(spans, columns, indent);
    return rows
      .map((row) => row.map((span) => (span.style === null ? span.text : style(span.style, span.text))).join(''))
      .join('\n');
  };
};

const withoutLineEnd = (text: string) => (text.endsWith('\n') ? text.slice(0, -1) : text);
