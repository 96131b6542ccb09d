import * as fc from 'fast-check';

/** Sizes of the chunks into which an output is split, repeated until it ends. */
export const chunkSizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 20 });

export const chunksOf = <Whole extends string | Uint8Array>(whole: Whole, sizes: readonly number[]): Whole[] => {
  const chunks: Whole[] = [];
  for (let start = 0, turn = 0; start < whole.length; turn++) {
    const end = start + sizes[turn % sizes.length]!;
    chunks.push(whole.slice(start, end) as Whole);
    start = end;
  }
  return chunks;
};
