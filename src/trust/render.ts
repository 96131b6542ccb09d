import type { CheckedSetting } from './check.ts';
import type { Setting } from './settings.ts';
import { commandLine } from '../text/shell-words.ts';
import { localDay } from '../text/format.ts';
import { visible } from '../text/escape-hidden.ts';

/** Shows every command in full, one per line, after its source. A changed setting is shown as a diff. */
export const renderSettings = (settings: readonly CheckedSetting[]): string[] => {
  const width = Math.max(...settings.map(({ source }) => source.length));
  return settings.flatMap(({ source, commands, before, unclear }) => {
    const label = visible(source);
    const row = (text: string) => `  ${label.padEnd(width)}  ${text}`;
    if (before === null) return [...commands.map((command) => row(visible(command))), ...unseen(unclear).map(row)];
    return [
      `  ${label}  (changed)`,
      ...differences(before, commands).map(([sign, command]) => `    ${sign} ${visible(command)}`),
      ...unseen(unclear).map((text) => `    ${text}`),
      ...(source.startsWith('./') ? [`    ${visible(howToSee(source))}`] : []),
    ];
  });
};

const unseen = (unclear: readonly string[]): string[] =>
  unclear.length === 0
    ? []
    : [`(runs files that Spool cannot see, which are not part of what you trust: ${visible(unclear.join(' '))})`];

/** Everything between the common start and end of two lists is a difference, even if only the order changed. */
const differences = (before: readonly string[], now: readonly string[]): [string, string][] => {
  const shorter = Math.min(before.length, now.length);
  let [first, last] = [0, 0];
  while (first < shorter && before[first] === now[first]) first++;
  while (last < shorter - first && before.at(-1 - last) === now.at(-1 - last)) last++;
  const part = (sign: string, list: readonly string[]) => list.map((command): [string, string] => [sign, command]);
  return [
    ...part(' ', now.slice(0, first)),
    ...part('-', before.slice(first, before.length - last)),
    ...part('+', now.slice(first, now.length - last)),
    ...part(' ', now.slice(now.length - last)),
  ];
};

const howToSee = (path: string): string => {
  const [edited, committed] = [
    commandLine('git', 'diff', 'HEAD', '--', path),
    commandLine('git', 'log', '-p', '--', path),
  ];
  return `see what changed with: ${edited}, or in commits: ${committed}`;
};

/** Shows settings with their state of trust. */
export const renderTrust = (settings: readonly CheckedSetting[]): string[] =>
  settings.flatMap(({ source, commands, since, before, unclear }) => {
    const state =
      since === null
        ? before === null
          ? 'not trusted'
          : 'changed, not trusted'
        : `trusted ${localDay(new Date(since))}`;
    const lines = [...commands.map(visible), ...unseen(unclear)];
    return [`${visible(source)}  (${state})`, ...lines.map((line) => `  ${line}`)];
  });

export const toJson = ({ source, commands, hash, since }: Setting & Pick<CheckedSetting, 'since'>) => ({
  source,
  commands,
  hash,
  trusted: since,
});
