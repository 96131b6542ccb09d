import { inlineMarkdown } from '../../../text/inline-markdown.ts';
import { Code } from '../diff/code.tsx';

type Block =
  | { readonly type: 'code'; readonly language: string; readonly lines: string[] }
  | { readonly type: 'heading'; readonly text: string }
  | { readonly type: 'item'; readonly indent: number; readonly mark: string; readonly text: string }
  | { readonly type: 'text'; readonly lines: string[] };

/** A longer line is not prose. */
const longestProse = 10_000;

/** Renders a message of an agent. Its words stay text: nothing that it contains becomes markup, a link or an image. */
export const Markdown = ({ text }: { readonly text: string }) => (
  <div class="markdown">
    {blocksOf(text).map((block, index) => (
      <BlockView key={index} block={block} />
    ))}
  </div>
);

const BlockView = ({ block }: { readonly block: Block }) => {
  switch (block.type) {
    case 'code':
      return (
        <pre class="code">
          <Code text={block.lines.join('\n')} language={block.language} />
        </pre>
      );
    case 'heading':
      return (
        <p class="markdown-heading">
          <Inline text={block.text} />
        </p>
      );
    case 'item':
      return (
        <p class="markdown-item" style={{ paddingLeft: `${Math.min(8, block.indent) * 0.5 + 1.4}em` }}>
          <span class="mark">{block.mark}</span>
          <Inline text={block.text} />
        </p>
      );
    case 'text':
      return (
        <p>
          <Inline text={block.lines.join('\n')} />
        </p>
      );
  }
};

const Inline = ({ text }: { readonly text: string }) => {
  if (text.length > longestProse) return <>{text}</>;
  return (
    <>
      {inlineMarkdown(text).map(({ text: part, style }, index) => {
        if (style === 'bold') return <strong key={index}>{part}</strong>;
        return style === 'cyan' ? <code key={index}>{part}</code> : part;
      })}
    </>
  );
};

const blocksOf = (text: string): Block[] => {
  const blocks: Block[] = [];
  let fence: { readonly marks: string; readonly block: Extract<Block, { type: 'code' }> } | null = null;
  for (const line of text.split('\n')) {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence !== null) {
      if (marks.startsWith(fence.marks) && line.trim() === marks) fence = null;
      else fence.block.lines.push(line);
      continue;
    }
    const rest = line.slice(line.indexOf(marks) + marks.length);
    // Three backticks on one line may also be code in a sentence.
    if (marks !== '' && !rest.includes('`')) {
      const block = { type: 'code' as const, language: rest.trim().split(/\s/)[0] ?? '', lines: [] };
      fence = { marks, block };
      blocks.push(block);
      continue;
    }
    addLine(blocks, line);
  }
  return blocks;
};

const addLine = (blocks: Block[], line: string): void => {
  const last = blocks.at(-1);
  if (line.trim() === '') {
    if (last?.type === 'text' && last.lines.length > 0) blocks.push({ type: 'text', lines: [] });
    return;
  }
  const heading = /^ {0,3}#{1,6} +(\S.*)$/.exec(line);
  if (heading !== null) {
    blocks.push({ type: 'heading', text: heading[1]! });
    return;
  }
  const item = /^( *)([-*+]|\d{1,9}[.)]) +(\S.*)$/.exec(line);
  if (item !== null) {
    const mark = '-*+'.includes(item[2]!) ? '•' : item[2]!;
    blocks.push({ type: 'item', indent: item[1]!.length, mark, text: item[3]! });
    return;
  }
  if (last?.type === 'text') last.lines.push(line);
  else blocks.push({ type: 'text', lines: [line] });
};
