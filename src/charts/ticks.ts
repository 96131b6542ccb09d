/** Values between 0 (or `start`) and `end` at distances that are easy to read: at most `count` of them. */
export const ticksOf = (
  end: number,
  count: number,
  { start = 0, steps }: { readonly start?: number; readonly steps?: readonly number[] | undefined } = {},
): number[] => {
  const raw = (end - start) / count;
  const step = steps?.find((one) => one >= raw) ?? niceStep(raw);
  const ticks: number[] = [];
  for (let value = Math.ceil(start / step) * step; value <= end + step / 1000; value += step)
    ticks.push(Number(value.toPrecision(12)));
  return ticks;
};

const niceStep = (raw: number): number => {
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
};
