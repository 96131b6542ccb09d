/** How a run ended, after a subject: `its last run stopped at a limit`. Any other status is described as such. */
export const endPredicate = (status: string): string => {
  switch (status) {
    case 'limit':
      return 'stopped at a limit';
    case 'failed':
      return 'failed';
    case 'blocked':
    case 'interrupted':
      return `was ${status}`;
    default:
      return `is ${status}`;
  }
};

/** How a run ended, without a subject: `stopped at a limit`, `complete`. */
export const endWord = (status: string): string => (status === 'limit' ? 'stopped at a limit' : status);

/** How a run ended, and why: `failed, the agent exited with code 1`. The detail of a limit says that it is one. */
export const endWithReason = (status: string, detail: string | null): string =>
  status === 'limit' && detail !== null ? detail : [endWord(status), ...(detail === null ? [] : [detail])].join(', ');
