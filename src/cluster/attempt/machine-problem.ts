/** A problem of this machine that others do not have: they can continue the change. */
export const isMachineProblem = (why: string): boolean =>
  /No space left on device|ENOSPC|Disk quota exceeded|EDQUOT|Read-only file system|EROFS|Input\/output error|\bEIO\b|Too many open files|EMFILE|ENFILE|Cannot allocate memory|ENOMEM/i.test(
    why,
  );
