import type { Limits } from '../ralph/plan.ts';
import { flags } from './flags.ts';
import { parseValue, type ValueKind } from './values.ts';

const valueOf = ({ kind, default: text }: { readonly kind: ValueKind; readonly default: string }): number =>
  parseValue(kind, text) as number;

/** Returns the limits that a run has by default. The others are unlimited. */
export const defaultLimits = (): Partial<Limits> => ({
  iterationTimeoutMs: valueOf(flags.iterationTimeout),
  idleTimeoutMs: valueOf(flags.idleTimeout),
  maxFailures: valueOf(flags.maxFailures),
  maxStalled: valueOf(flags.maxStalled),
  maxWaitMs: valueOf(flags.maxWait),
});
