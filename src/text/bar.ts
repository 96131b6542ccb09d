const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * `█████▌`: a value in proportion to the highest one. A value above 0 is never invisible. Empty if nothing is known.
 */
export const bar = (value: number | null, highest: number, width: number): string => {
  if (value === null || value <= 0 || highest <= 0) return '';
  const units = Math.max(1, Math.round((Math.min(value, highest) / highest) * width * 8));
  return '█'.repeat(Math.floor(units / 8)) + eighths[units % 8]!;
};
