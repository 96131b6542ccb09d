import { commands, groups } from '../commands/registry.ts';
import { type Command, type CommandOption, usageOf } from '../commands/command.ts';

/** Renders the help for a command, for a group of commands, or for all of them. */
export const renderHelp = (about: Command | string | null, columns: number): string => {
  if (about === null) return render(aboutAll(), columns);
  return render(typeof about === 'string' ? aboutGroup(about) : aboutCommand(about), columns);
};

type Entry = readonly [term: string, help: string];

interface Help {
  readonly usage: string;
  readonly summary: string;
  readonly alias?: string | undefined;
  readonly sections: Readonly<Record<string, readonly Entry[]>>;
  readonly examples: readonly string[];
}

const help: Entry = ['-h, --help', 'Show help'];

const aboutAll = (): Help => ({
  usage: 'spool [options] [command]',
  summary: 'Run a coding agent in a loop until a change is done.',
  sections: {
    Options: [['-V, --version', 'Print the version'], help],
    Commands: [
      ...commands.filter(({ name }) => !name.includes(' ')).map(entryOf),
      ...Object.entries(groups),
      ['help [command]', 'Show help for a command'],
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
  alias: command.alias,
  sections: {
    Arguments: command.positionals.map((positional) => [positional.name, positional.help]),
    Options: [...command.options.map(optionEntry), help],
  },
  examples: ['Examples:', ...command.examples.map((example) => `  ${example}`)],
});

const entryOf = (command: Command): Entry => [termOf(command), command.summary];

/** `ralph [options] [prompt]` */
const termOf = ({ name, options, positionals }: Command): string =>
  [
    name,
    ...(options.length > 0 ? ['[options]'] : []),
    ...positionals.map((positional) => (positional.optional ? `[${positional.name}]` : `<${positional.name}>`)),
  ].join(' ');

const optionEntry = (option: CommandOption): Entry => {
  const aliases = option.aliases?.map((alias) => `--${alias}`).join(', ');
  const notes = [
    ...(aliases === undefined ? [] : [`(aliases: ${aliases})`]),
    ...(option.default === undefined ? [] : [`(default: ${firstLine(option.default)})`]),
  ];
  return [usageOf(option), [option.help, ...notes].join(' ')];
};

const firstLine = (text: string): string => text.replace(/\n[\s\S]*/, ' …');

const narrowest = 40;

const render = ({ usage, summary, alias, sections, examples }: Help, columns: number): string => {
  const filled = Object.entries(sections).filter(([, entries]) => entries.length > 0);
  const termWidth = Math.max(...filled.flatMap(([, entries]) => entries.map(([term]) => term.length)));
  const indent = ' '.repeat(termWidth + 4);
  const line = ([term, text]: Entry) =>
    `  ${term.padEnd(termWidth)}  ${wrap(text, Math.max(narrowest, columns - indent.length)).join(`\n${indent}`)}`;
  const parts = [
    [`Usage: ${usage}`, ...(alias === undefined ? [] : [`Alias: ${alias}`])],
    wrap(summary, Math.max(narrowest, columns)),
    ...filled.map(([title, entries]) => [`${title}:`, ...entries.map(line)]),
    ...(examples.length > 0 ? [examples] : []),
  ];
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`;
};

/** Breaks a text between words into lines of at most `width` characters. */
const wrap = (text: string, width: number): string[] => {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
};
