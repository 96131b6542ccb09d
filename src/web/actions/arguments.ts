import type { Action } from '../api.ts';

/** A call of Spool's own program. */
export interface Call {
  readonly args: readonly string[];
  readonly timeoutMs: number;
}

const shortMs = 60_000;
/** A landing runs the verify commands. */
const longMs = 60 * 60_000;

/** The command that does what an action asks for. Values follow their flag in the same word, so none is taken for a flag. */
export const callOf = (action: Action): Call => {
  const { change } = action;
  switch (action.kind) {
    case 'add-context':
      return short('ralph', `--change=${change}`, `--add-context=${action.text}`);
    case 'clear-context':
      return short('ralph', `--change=${change}`, '--clear-context');
    case 'stop-after-iteration':
      return short('stop', change);
    case 'stop-now':
      return short('stop', change, '--now');
    case 'pause':
      return short('pause', change);
    case 'resume':
      return short('resume', change);
    case 'start':
      return short('ralph', `--change=${change}`, '--detach', ...startFlags(action));
    case 'rewind':
      return { args: ['rewind', change, action.to, ...runFlag(action)], timeoutMs: longMs };
    case 'land':
      return { args: ['land', change, ...(action.keepBranch ? ['--keep-branch'] : [])], timeoutMs: longMs };
  }
};

/** The same as a dry run; null if the command has none. */
export const dryRunOf = (action: Action): Call | null => {
  if (action.kind !== 'rewind' && action.kind !== 'land') return null;
  const { args, timeoutMs } = callOf(action);
  return { args: [...args, '--dry-run'], timeoutMs };
};

const short = (...args: string[]): Call => ({ args, timeoutMs: shortMs });

const runFlag = ({ run }: { readonly run?: string }): string[] => (run === undefined ? [] : [`--run=${run}`]);

const startFlags = (action: Action & { readonly kind: 'start' }): string[] => {
  const { harness, model, maxIterations, maxCostUsd, maxDuration, fresh, prompt } = action;
  const flags: readonly (readonly [string, string | number | undefined])[] = [
    ['harness', harness],
    ['model', model],
    ['max-iterations', maxIterations],
    ['max-cost', maxCostUsd],
    ['max-duration', maxDuration],
  ];
  return [
    ...flags.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`])),
    ...(fresh ? ['--fresh'] : []),
    ...(prompt === undefined ? [] : ['--', prompt]),
  ];
};
