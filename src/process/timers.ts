/** The longest delay that the timers of Node support. */
export const maxTimerMs = 2 ** 31 - 1;
