import type { Surroundings } from '../commands/completion/suggestions.ts';
import { wantedAt } from './complete.ts';

/**
 * Answers `spool __complete <shell> <word>…`, the hidden command of the completion scripts. Returns lines such as
 * `value<tab>description`, or `:files` for the names of files. Never throws, and writes nothing:
 * if anything is wrong, the shell completes nothing.
 */
export const answerShell = async (argv: readonly string[], surroundings: Surroundings): Promise<string> => {
  try {
    const [shell = '', ...words] = argv;
    const { line, cut } = shell === 'bash' ? joinBashWords(words) : { line: words, cut: 0 };
    const { words: known, lookUp, typed } = wantedAt(line);
    if (lookUp === 'files') return ':files\n';
    const { lookUpSuggestions } = await import('../commands/completion/suggestions.ts');
    const found = lookUp === null ? [] : await lookUpSuggestions(lookUp, typed, surroundings);
    const start = (line.at(-1) ?? '').slice(0, -typed.length || undefined);
    const prefix = shell === 'fish' && start.startsWith('--') && start.endsWith('=') ? start : '';
    return [...known, ...found]
      .filter(({ value }) => isHarmless.test(value) && (shell !== 'bash' || value.startsWith(typed)))
      .map(({ value, help = '' }) => `${prefix}${value.slice(cut)}\t${help}\n`)
      .join('');
  } catch {
    return '';
  }
};

/** The shell inserts a name as it is. What it could take for more than a name is not completed. */
const isHarmless = /^[\w.:/@=,+-]+$/;

/**
 * bash splits words at `=` and `:`, and replaces only the last part. Joins the parts again; `cut` is the number of
 * characters of the last word that bash has already.
 */
const joinBashWords = (words: readonly string[]): { line: string[]; cut: number } => {
  const line: string[] = [];
  let cut = 0;
  let isJoined = false;
  for (const word of words) {
    const isBreak = /^[=:]+$/.test(word) && line.length > 0;
    const before = line.at(-1) ?? '';
    if (isBreak || isJoined) line[line.length - 1] = before + word;
    else line.push(word);
    const start = isBreak ? `${before}${word}` : isJoined ? before : '';
    cut = start.replace(/^--[^=]+=/, '').length;
    isJoined = isBreak;
  }
  return { line, cut };
};
