/** `<$0.01`, `$0.04`, `$12.40`; empty if it is unknown. */
export const dollars = (cost: number | null): string => {
  if (cost === null) return '';
  return cost > 0 && cost < 0.01 ? '<$0.01' : `$${cost.toFixed(2)}`;
};
