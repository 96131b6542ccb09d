import { fstatSync, readSync } from 'node:fs';

const newline = 0x0a;

/** Whether the last line of an open file was cut off, or was edited by hand without a newline. */
export const endsMidLine = (file: number, { size } = fstatSync(file)): boolean => {
  const last = Buffer.alloc(1, newline);
  if (size > 0) readSync(file, last, 0, 1, size - 1);
  return last[0] !== newline;
};
