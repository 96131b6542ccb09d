import type { AgentEvent } from '../ralph/agent-events.ts';
import { withoutControls } from '../text/controls.ts';
import { createMarkdown } from './markdown.ts';
import { fullRows, oneLine, truncate } from './shorten.ts';
import type { Terminal } from './terminal.ts';
import { toolText } from './tool-lines.ts';
import { wrap, wrapSpans } from './wrap.ts';

/** Where lines are written. Each text ends with a newline. */
interface LineSink {
  print(text: string): void;
  log(text: string): void;
}

export interface AgentLineOptions {
  /** Also show reasoning. */
  readonly verbose: boolean;
  /** The folder of the agent. */
  readonly root: () => string | null;
}

/** The maximum length of a tool call in a log. */
const longestToolText = 200;

/** Renders what an agent says and does. */
export const createAgentLines = (terminal: Terminal, sink: LineSink, { verbose, root }: AgentLineOptions) => {
  const { style, symbols } = terminal;

  /** The last output did not end with a newline. */
  let lineIsOpen = false;
  /** The end of an open line on an interactive terminal. It fills no row, and is written with what follows. */
  let held = '';

  const endLine = () => {
    if (!lineIsOpen) return;
    lineIsOpen = false;
    sink.print(`${held}\n`);
    held = '';
  };
  /** A very long line arrives in pieces. */
  const printPlain = (text: string) => {
    if (terminal.isInteractive) return printRows(text);
    terminal.print(text);
    lineIsOpen = !text.endsWith('\n');
  };
  /** On an interactive terminal each row of an open line ends with a newline, as it is followed by the status line. */
  const printRows = (text: string) => {
    const whole = `${held}${text}`;
    lineIsOpen = !whole.endsWith('\n');
    if (!lineIsOpen) {
      held = '';
      return sink.print(whole);
    }
    const end = whole.lastIndexOf('\n') + 1;
    const { rows, rest } = fullRows(whole.slice(end), terminal.columns);
    held = rest;
    const lines = whole.slice(0, end) + rows.map((row) => `${row}\n`).join('');
    if (lines !== '') sink.print(lines);
  };

  const print = (line: string) => {
    endLine();
    sink.print(`${line}\n`);
  };
  const log = (line: string) => {
    endLine();
    sink.log(`${line}\n`);
  };

  const printMessage = (text: string) => {
    const message = withoutLineEnd(withoutControls(text));
    print(terminal.isInteractive ? message.split('\n').map(createLineRenderer(terminal)).join('\n') : message);
  };
  const printTool = (event: AgentEvent & { type: 'tool' }) => {
    const columns = terminal.isInteractive ? terminal.columns : longestToolText;
    print(style('cyan', truncate(`  ${toolText(event, { symbols, root: root() })}`, columns, symbols.ellipsis)));
  };

  return {
    endLine,
    show(event: AgentEvent): void {
      switch (event.type) {
        case 'text':
          return event.plain ? printPlain(event.text) : printMessage(event.text);
        case 'tool':
          return printTool(event);
        case 'tool-result':
          return event.failed && !event.denied ? print(style('red', `  ! ${oneLine(event.tool)} failed`)) : undefined;
        case 'denied':
          return print(style('red', `  ! ${oneLine(event.tool)} denied`));
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
