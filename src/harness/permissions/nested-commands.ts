import { basename } from 'node:path';
import { isShell } from '../../text/shell-names.ts';
import { hole } from '../../text/wildcard.ts';
import { parseShell, type RunCommand, type ShellText, unknown } from './shell.ts';

/**
 * Returns all commands that a text runs, including those that other programs start: `sudo rm`, `sh -c 'rm x'`,
 * `find -exec rm`. Deny rules are checked against them. A program that is given by its path also counts by its name.
 */
export const withNested = ({ commands, unclear, hidden }: ShellText, depth = 0): ShellText => {
  const found: RunCommand[] = [];
  let problem = hidden;
  for (const command of commands.flatMap(formsOf)) {
    found.push(command);
    const script = scriptOf(command.words);
    if (script === null) continue;
    const isKnown = depth < maxDepth && !script.includes(hole);
    const inner = isKnown ? withNested(parseShell(script), depth + 1) : unknown('it runs a command that is not known');
    problem ??= inner.hidden;
    found.push(...inner.commands);
  }
  return { commands: found, unclear, hidden: problem };
};

const maxDepth = 4;

/** Programs that run the command in their arguments. */
const starters =
  /^(?:sudo|doas|env|command|builtin|exec|nice|ionice|nohup|time|timeout|stdbuf|setsid|xargs|busybox|chroot|unshare|watch|parallel|strace|script|flock|runuser|su|npx|bunx|find|fd)$/;

const maxArguments = 50;

/** The command as written, by the name of its program, and without what starts it. */
const formsOf = (command: RunCommand): RunCommand[] => {
  const [program = '', ...rest] = command.words;
  const name = basename(program);
  const plain = name === program ? [command] : [command, { ...command, words: [name, ...rest] }];
  if (!starters.test(name)) return plain;
  const inner = rest.slice(0, maxArguments).flatMap((word, index) => {
    if (word.startsWith('-') || word === '') return [];
    const words = rest.slice(index);
    return [words, [basename(word), ...words.slice(1)]];
  });
  return [...plain, ...inner.map((words) => ({ ...command, words }))];
};

/** Returns the text that a command passes to a shell; null if it passes none. */
const scriptOf = (words: readonly string[]): string | null => {
  const [program = '', ...rest] = words;
  if (program === 'eval') return rest.join(' ');
  if (!isShell(program)) return null;
  const flag = rest.findIndex((word) => /^-[a-zA-Z]*c$/.test(word));
  return flag === -1 ? null : (rest[flag + 1] ?? null);
};
