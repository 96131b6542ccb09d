import type { Change } from '../changes/source.ts';
import type { Resolved } from './resolve.ts';

/**
 * Adds the verify commands that changes have in their own files to the settings, unless a flag, a variable or the
 * config file sets some. They are the project's, so they need the same trust as those in the config file.
 */
export const withOwnCommands = <Settings extends Pick<Resolved, 'config' | 'explicit' | 'forChange'>>(
  resolved: Settings,
  targets: readonly Pick<Change, 'id' | 'tasksFile' | 'verify'>[],
): Settings => {
  const { config, explicit, forChange } = resolved;
  const isUnset = (id: string) => !explicit.has('verify') && forChange(id).verify.length === 0;
  const ownVerify = new Map(
    targets
      .filter(({ id, verify }) => verify.length > 0 && isUnset(id))
      .map(({ id, tasksFile, verify }) => [id, { source: ownSource(tasksFile), commands: verify }]),
  );
  if (ownVerify.size === 0) return resolved;
  return {
    ...resolved,
    config: { ...config, ownVerify },
    forChange: (id) => {
      const own = ownVerify.get(id);
      return own === undefined ? forChange(id) : { ...forChange(id), verify: own.commands };
    },
  };
};

/** The source of the verify commands in a task file. No key of config.json has such a name. */
export const ownSource = (path: string): string => `${ownPrefix}${path}`;

const ownPrefix = 'task file ';

/** The source of the `**Verify**:` commands in the scenarios of a change. */
export const scenarioSource = (change: string): string => `scenarios of ${change}`;

/** The path of the task file that is a source; null for another source. */
export const pathInOwnSource = (source: string): string | null =>
  source.startsWith(ownPrefix) ? source.slice(ownPrefix.length) : null;
