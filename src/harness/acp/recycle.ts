import { duration } from '../../text/format.ts';

/** What is known of a warm agent between two iterations. */
export interface RecycleFacts {
  /** How many turns the process has had. */
  readonly iterations: number;
  /** The memory of the agent and its descendants now, and when it was first idle; null if unknown. */
  readonly memoryBytes: number | null;
  readonly firstIdleBytes: number | null;
  /** How long the process has been running. */
  readonly ageMs: number;
  /** How long it has not been used. */
  readonly idleMs: number;
  /** `fingerprintOf` its instructions and configuration, when it started and now. */
  readonly fingerprintAtStart: string | null;
  readonly fingerprint: string | null;
}

export interface RecycleLimits {
  readonly iterations: number;
  readonly memoryFactor: number;
  /** Below this a growth by `memoryFactor` does not count: a small agent may double without harm. */
  readonly memoryFloorBytes: number;
  readonly memoryBytes: number;
  readonly ageMs: number;
  readonly idleMs: number;
}

/** Why an agent may lack a server from now on. */
export const whyServerless = 'a shell that it left running, which was ended, may be one of its servers';

const megabyte = 1024 * 1024;
const hourMs = 3_600_000;

export const recycleLimits: RecycleLimits = {
  iterations: 20,
  memoryFactor: 2,
  memoryFloorBytes: 512 * megabyte,
  memoryBytes: 1536 * megabyte,
  ageMs: 4 * hourMs,
  idleMs: hourMs,
};

/** Returns why the agent needs a new process for the next iteration; null if it does not. */
export const recycleReason = (facts: RecycleFacts, limits: RecycleLimits = recycleLimits): string | null => {
  if (facts.fingerprint !== facts.fingerprintAtStart) return 'its instructions or configuration changed';
  if (facts.iterations >= limits.iterations) return `it has run ${facts.iterations} iterations`;
  const memory = memoryReason(facts, limits);
  if (memory !== null) return memory;
  if (facts.idleMs >= limits.idleMs) return `it was idle for ${duration(facts.idleMs)}`;
  if (facts.ageMs >= limits.ageMs) return `it has been running for ${duration(facts.ageMs)}`;
  return null;
};

const memoryReason = ({ memoryBytes, firstIdleBytes }: RecycleFacts, limits: RecycleLimits): string | null => {
  if (memoryBytes === null) return null;
  if (memoryBytes >= limits.memoryBytes) return `it uses ${megabytes(memoryBytes)} of memory`;
  if (firstIdleBytes === null || memoryBytes < limits.memoryFloorBytes) return null;
  return memoryBytes >= firstIdleBytes * limits.memoryFactor
    ? `it uses ${megabytes(memoryBytes)} of memory, up from ${megabytes(firstIdleBytes)}`
    : null;
};

const megabytes = (bytes: number): string => `${Math.round(bytes / megabyte)} MB`;
