/** The defaults that a run is compared with later, and that a lost state is rebuilt with. */
export const defaultHarness = 'opencode';
export const defaultCompletionPromise = 'COMPLETE';
export const defaultBlockedPromise = 'BLOCKED';
