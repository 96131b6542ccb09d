/** A line that opens or closes a Markdown code block, including in lists and quotes. */
interface Fence {
  readonly char: string;
  readonly length: number;
  /** It has a language, so it cannot close a block. */
  readonly named: boolean;
}

export const fenceIn = (line: string): Fence | null => {
  const match = /^(?:\s|>|[*+-]\s|\d+[.)]\s)*(`{3,}|~{3,}(?!~))\s*(?:([^\s`]+)\s*)?$/.exec(line);
  return match && { char: match[1]![0]!, length: match[1]!.length, named: match[2] !== undefined };
};

/** Returns how many fences are open after these lines. A nested one has a language; unclosed tildes are a rule. */
export const openFences = (lines: readonly string[]): number => {
  const fences = lines.map(fenceIn).filter((fence) => fence !== null);
  const open: Fence[] = [];
  for (const [index, fence] of fences.entries()) {
    const top = open.at(-1);
    if (top !== undefined && closes(fence, top)) open.pop();
    else if (fence.named || (top === undefined && !isRule(fences, index))) open.push(fence);
  }
  return open.length;
};

const closes = (fence: Fence, opener: Fence): boolean =>
  !fence.named && fence.char === opener.char && fence.length >= opener.length;

const isRule = (fences: readonly Fence[], index: number): boolean => {
  const fence = fences[index]!;
  if (fence.char !== '~') return false;
  for (let at = index + 1; at < fences.length; at++) if (closes(fences[at]!, fence)) return false;
  return true;
};
