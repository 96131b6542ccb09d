import { inlineMarkdown } from '../../../text/inline-markdown.ts';
import { Code } from './code.tsx';
import { type Block, blocksOf } from './markdown-blocks.ts';

/** A longer line is not prose. */
const maxProse = 10_000;

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
    case 'table':
      return <Table rows={block.rows} />;
    case 'text':
      return (
        <p>
          <Inline text={block.lines.join('\n')} />
        </p>
      );
  }
};

const Table = ({ rows: [titles = [], ...rows] }: { readonly rows: readonly (readonly string[])[] }) => (
  <div class="markdown-table" tabIndex={0} role="region" aria-label="Table">
    <table>
      <thead>
        <tr>
          {titles.map((text, index) => (
            <th key={index} scope="col">
              <Inline text={text} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {titles.map((_, at) => (
              <td key={at}>
                <Inline text={row[at] ?? ''} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const Inline = ({ text }: { readonly text: string }) => {
  if (text.length > maxProse) return <>{text}</>;
  return (
    <>
      {inlineMarkdown(text).map(({ text: part, style }, index) => {
        if (style === 'bold') return <strong key={index}>{part}</strong>;
        return style === 'cyan' ? <code key={index}>{part}</code> : part;
      })}
    </>
  );
};
