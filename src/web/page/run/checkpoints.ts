/** The number of the last iteration that has a checkpoint. They are in order, with those before a rewind (`r1`) among them. */
export const lastCheckpoint = (names: readonly string[]): number =>
  Number(names.findLast((name) => /^\d+$/.test(name)) ?? 0);
