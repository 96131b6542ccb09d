/** How a run ended, after a subject: `its last run stopped at a limit`. Any other status is described as such. */
export const endOf = (status: string): string => {
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
export const endText = (status: string): string => (status === 'limit' ? 'stopped at a limit' : status);
