import { commands, groups } from '../commands/table.ts';
import type { Command, CommandOption } from '../commands/command.ts';

/** What `--help` prints, about a command, about those that begin with a word, or about all of them. */
export const renderHelp = (about: Command | string | null, columns: number): string => {
  if (about === null) return render(aboutAll(), columns);
  return render(typeof about === 'string' ? aboutGroup(about) : aboutCommand(about), columns);
};

type Entry = readonly [term: string, help: string];

interface Help {
  readonly usage: string;
  readonly summary: string;
  readonly sections: Readonly<Record<string, readonly Entry[]>>;
  readonly examples: readonly string[];
}

const help: Entry = ['-h, --help', 'show this help'];

const aboutAll = (): Help => ({
  usage: 'spool [options] [command]',
  summary: 'Runs a coding agent on a change, again and again, until the change is done.',
  sections: {
    Options: [['-V, --version', 'print the version'], help],
    Commands: [
      ...commands.filter(({ name }) => !name.includes(' ')).map(entryOf),
      ...Object.entries(groups),
      ['help [command]', 'show the help of a command'],
    ],
  },
  examples: [
    'Start with:',
    '  spool init',
    '  spool create module <slug>',
    '  spool create change <slug> --module 001',
    '  spool ralph --change 001-01',
  ],
});

const aboutGroup = (group: string): Help => ({
  usage: `spool ${group} [options] [command]`,
  summary: groups[group] ?? '',
  sections: {
    Options: [help],
    Commands: commands.filter(({ name }) => name.startsWith(`${group} `)).map(entryOf),
  },
  examples: [],
});

const aboutCommand = (command: Command): Help => ({
  usage: `spool ${termOf(command)}`,
  summary: command.summary,
  sections: {
    Arguments: argumentsOf(command).map((argument) => [argument.name, argument.help]),
    Options: [...command.options.map(optionEntry), help],
  },
  examples: ['Examples:', ...command.examples.map((example) => `  ${example}`)],
});

const entryOf = (command: Command): Entry => [termOf(command), command.summary];

/** `ralph|loop [options] [prompt]` */
const termOf = (command: Command): string =>
  [
    command.alias ? `${command.name}|${command.alias}` : command.name,
    ...(command.options.length > 0 ? ['[options]'] : []),
    ...argumentsOf(command).map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`)),
  ].join(' ');

const argumentsOf = ({ argument, second }: Command) => [argument, second].filter((each) => each !== undefined);

const optionEntry = ({ flags, help: text, aliases = [], fallback }: CommandOption): Entry => {
  const also = aliases.length > 0 ? ` (also ${aliases.map((alias) => `--${alias}`).join(', ')})` : '';
  const standard = fallback === undefined ? '' : ` (default: ${fallback})`;
  return [flags, `${text}${also}${standard}`];
};

const narrowest = 40;

const render = ({ usage, summary, sections, examples }: Help, columns: number): string => {
  const filled = Object.entries(sections).filter(([, entries]) => entries.length > 0);
  const termWidth = Math.max(...filled.flatMap(([, entries]) => entries.map(([term]) => term.length)));
  const indent = ' '.repeat(termWidth + 4);
  const line = ([term, text]: Entry) =>
    `  ${term.padEnd(termWidth)}  ${wrap(text, Math.max(narrowest, columns - indent.length)).join(`\n${indent}`)}`;
  const parts = [
    [`Usage: ${usage}`],
    wrap(summary, Math.max(narrowest, columns)),
    ...filled.map(([title, entries]) => [`${title}:`, ...entries.map(line)]),
    ...(examples.length > 0 ? [examples] : []),
  ];
  const text = parts.map((lines) => lines.join('\n')).join('\n\n');
  return `${text.replaceAll(/(?<! ) +$/gm, '')}\n`;
};

/** Lines of at most so many characters, broken between words; line ends in the text stay. */
const wrap = (text: string, width: number): string[] =>
  text.split('\n').flatMap((line) => {
    const lines = [''];
    for (const word of line.split(' ')) {
      const last = lines.at(-1)!;
      if (last !== '' && last.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
    }
    return lines;
  });
