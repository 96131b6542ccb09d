import type { Judged } from '../trust/judge.ts';
import type { Setting } from '../trust/settings.ts';
import { moment } from './format.ts';

/** Every command in full, one a line, behind where it is from; a changed one as a difference. */
export const renderSettings = (settings: readonly Judged[]): string[] => {
  const width = Math.max(...settings.map(({ source }) => source.length));
  return settings.flatMap(({ source, commands, before }) => {
    const label = visible(source);
    if (before === null) return commands.map((command) => `  ${label.padEnd(width)}  ${visible(command)}`);
    return [
      `  ${label}  (changed)`,
      ...before.filter((command) => !commands.includes(command)).map((command) => `    - ${visible(command)}`),
      ...commands.map((command) => `    ${before.includes(command) ? ' ' : '+'} ${visible(command)}`),
      ...(source.startsWith('./') ? [`    see what changed with: git log -p -- '${visible(source)}'`] : []),
    ];
  });
};

/** The same with what is trusted since when. */
export const renderTrust = (settings: readonly Judged[]): string[] =>
  settings.flatMap(({ source, commands, since, before }) => {
    const state =
      since === null ? (before === null ? 'not trusted' : 'changed, not trusted') : `trusted ${dayOf(since)}`;
    return [`${visible(source)}  (${state})`, ...commands.map((command) => `  ${visible(command)}`)];
  });

export const toJson = ({ source, commands, hash, since }: Setting & Pick<Judged, 'since'>) => ({
  source,
  commands,
  hash,
  trusted: since,
});

/** `2026-11-16`, in local time. */
export const dayOf = (iso: string): string => moment(iso).split(' ')[0]!;

/** A command on one line in which nothing can hide: what moves the cursor, turns the text around or is invisible is written out. */
export const visible = (text: string): string => text.replaceAll(hidden, codeOf).replaceAll(/ {9,}/g, blanks);

/** Controls, formats, what has no width, and blanks but for the usual one. */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

const codeOf = (char: string): string => {
  if (char === '\n') return String.raw`\n`;
  if (char === '\t') return String.raw`\t`;
  return `\\u{${char.codePointAt(0)!.toString(16)}}`;
};

/** Many blanks would push what follows them out of sight. */
const blanks = (run: string): string => ` [${run.length} blanks] `;
