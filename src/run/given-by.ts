import { envOf, type FlagName } from '../config/flags.ts';
import type { CommandOrigin } from '../ralph/plan.ts';

interface Caller {
  /** The settings of the caller. */
  readonly values: Readonly<Partial<Record<FlagName, unknown>>>;
  /** What the caller calls a setting, such as `--verify`. */
  readonly nameOf: (name: FlagName) => string;
  readonly env: NodeJS.ProcessEnv;
}

export type GivenBy = (name: FlagName) => Required<Pick<CommandOrigin, 'source' | 'setBy'>>;

/** Returns where an explicit setting is from. What neither the caller nor a variable has set was kept from the last run. */
export const createGivenBy =
  ({ values, nameOf, env }: Caller): GivenBy =>
  (name) => {
    if (values[name] !== undefined) return { source: nameOf(name), setBy: 'caller' };
    if (env[envOf(name)]) return { source: envOf(name), setBy: 'variable' };
    return { source: 'the last run', setBy: 'last run' };
  };
