const maxMs = 30 * 60_000;
const minMs = 100;

/** The first cooldown, as a multiple of --retry-delay. */
const first = 30;

interface UnstatedCooldown {
  readonly retryDelayMs: number;
  /** How often in a row the agent was not available before. */
  readonly times: number;
  /** Like Math.random. */
  readonly random: () => number;
}

/**
 * Returns how long to wait for a usage limit if the provider does not say when it resets: twice as long each time, with
 * some jitter, so that the loops of a user do not all resume at the same time.
 */
export const unstatedCooldownMs = ({ retryDelayMs, times, random }: UnstatedCooldown): number => {
  const cooldown = Math.min(maxMs, Math.max(minMs, first * retryDelayMs) * 2 ** Math.min(30, times));
  return Math.round(cooldown * (0.8 + 0.4 * random()));
};
