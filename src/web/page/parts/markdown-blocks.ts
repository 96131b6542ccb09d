/** A part of a message. */
export type Block =
  | { readonly type: 'code'; readonly language: string; readonly lines: string[] }
  | { readonly type: 'heading'; readonly text: string }
  | { readonly type: 'item'; readonly indent: number; readonly mark: string; readonly text: string }
  /** The first row has the titles. */
  | { readonly type: 'table'; readonly rows: string[][] }
  | { readonly type: 'text'; readonly lines: string[] };

/** Splits a message into its parts. Everything else is text. */
export const blocksOf = (text: string): Block[] => {
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
  return blocks.filter((block) => block.type !== 'text' || block.lines.length > 0);
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
    const box = /^\[([ xX])\] +(\S.*)$/.exec(item[3]!);
    const mark = box !== null ? (box[1] === ' ' ? '☐' : '☑') : '-*+'.includes(item[2]!) ? '•' : item[2]!;
    blocks.push({ type: 'item', indent: item[1]!.length, mark, text: box?.[2] ?? item[3]! });
    return;
  }
  if (line.startsWith('|') && last?.type === 'table') {
    last.rows.push(cellsOf(line));
    return;
  }
  // A table is known by its second line.
  const titles = last?.type === 'text' ? last.lines.at(-1) : undefined;
  if (isRule(line) && titles?.startsWith('|') && cellsOf(titles).length === cellsOf(line).length) {
    if (last?.type === 'text') last.lines.pop();
    blocks.push({ type: 'table', rows: [cellsOf(titles)] });
    return;
  }
  if (last?.type === 'text') last.lines.push(line);
  else blocks.push({ type: 'text', lines: [line] });
};

/** `|---|:--:|` */
const isRule = (line: string): boolean =>
  line.startsWith('|') && line.length < 1000 && cellsOf(line).every((cell) => /^:?-+:?$/.test(cell));

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split('|')
    .map((cell) => cell.trim());
