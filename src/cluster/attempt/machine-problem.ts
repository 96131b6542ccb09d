/** A problem of this machine that others do not have: they can continue the change. In the words of git, Node or `systemProblem`. */
export const isMachineProblem = (why: string): boolean =>
  /No space left on device|the disk is full|ENOSPC|Disk quota exceeded|EDQUOT|Read-only file system|the file system is read-only|EROFS|Input\/output error|\bEIO\b|Too many open files|EMFILE|ENFILE|Cannot allocate memory|ENOMEM/i.test(
    why,
  );
