import { commands, groups } from '../commands/registry/registry.ts';
import {
  type Command,
  commandHeadings,
  type CommandOption,
  positionalText,
  usageOf,
} from '../commands/registry/command.ts';
import { flagHeadings, optionFlag } from '../config/flags.ts';
import { wrapText } from '../text/wrap.ts';

export interface HelpRequest {
  /** A command, a group of commands by its name, or null for all of them. */
  readonly about: Command | string | null;
  /** Describes every option, not only those for every day. */
  readonly isFull: boolean;
}

/** Renders the help for a command, for a group of commands, or for all of them. */
export const renderHelp = ({ about, isFull }: HelpRequest, columns: number): string => {
  if (about === null) return render(aboutAll(), columns);
  return render(typeof about === 'string' ? aboutGroup(about) : aboutCommand(about, isFull), columns);
};

type Entry = readonly [term: string, help: string];

interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
  /** A line below the entries. */
  readonly note?: string;
}

interface Help {
  readonly usage: string;
  readonly summary: string;
  readonly alias?: string | undefined;
  readonly sections: readonly Section[];
  readonly examples: readonly string[];
}

const help: Entry = ['-h, --help', 'Show help'];

const aboutAll = (): Help => ({
  usage: 'spool <command> [options]',
  summary: 'Run a coding agent in a loop until a change is done.',
  sections: [
    ...commandHeadings.map((heading) => ({
      title: heading,
      entries: topLevel().flatMap(([entry, its]) => (its === heading ? [entry] : [])),
    })),
    { title: 'Options', entries: [['-V, --version', 'Print the version'], help] },
  ],
  examples: ['Help for a command:', '  spool <command> --help', '', 'Start with:', ...firstSteps],
});

const firstSteps = ['  spool ralph "Describe the change in a sentence"', '  spool status'];

/** The commands that are typed as one word, and the groups, each with its heading. */
const topLevel = (): (readonly [Entry, Command['heading']])[] => {
  const names = commands.map(({ name }) => name.split(' ')[0]!);
  return [...new Set(names)].map((name) => {
    const first = commands.find((command) => command.name === name);
    const { heading } = first ?? commands.find((command) => command.name.startsWith(`${name} `))!;
    const term = isGroup(name) ? `${name} ${subcommandTerm(name)}` : withArguments(first!);
    return [[term, groups[name] ?? first!.summary], heading];
  });
};

/** Optional if the group is a command itself. */
const subcommandTerm = (group: string): string =>
  commands.some(({ name }) => name === group) ? '[command]' : '<command>';

const isGroup = (name: string): boolean => Object.hasOwn(groups, name);

const aboutGroup = (group: string): Help => ({
  usage: `spool ${group} ${subcommandTerm(group)} [options]`,
  summary: groups[group] ?? '',
  sections: [
    {
      title: 'Commands',
      entries: commands
        .filter(({ name }) => name === group || name.startsWith(`${group} `))
        .map((command) => [withArguments(command), command.summary]),
    },
    ...commands.filter(({ name }) => name === group).map(({ options }) => optionSection(options)),
  ],
  examples: [],
});

const aboutCommand = (command: Command, isFull: boolean): Help => ({
  usage: `spool ${termOf(command)}`,
  summary: command.summary,
  alias: command.alias,
  sections: [
    { title: 'Arguments', entries: command.positionals.map((positional) => [positional.name, positional.help]) },
    ...optionSections(command, isFull),
  ],
  examples: ['Examples:', ...examplesOf(command, isFull).map((example) => `  ${example}`)],
});

const hasEveryday = ({ options }: Command): boolean => options.some(({ isEveryday }) => isEveryday);

/** The short help has only the first examples. */
const examplesOf = (command: Command, isFull: boolean): readonly string[] =>
  hasEveryday(command) && !isFull ? command.examples.slice(0, 4) : command.examples;

/** Options with headings are listed below them. The short help describes those for every day and names the others. */
const optionSections = (command: Command, isFull: boolean): Section[] => {
  const { name, options } = command;
  if (!hasEveryday(command)) return [optionSection(options)];
  const below = (heading: string, list: readonly CommandOption[]) =>
    list.filter((option) => option.heading === heading);
  const own = options.filter(({ heading }) => heading === undefined);
  if (isFull)
    return [
      { title: 'Options', entries: own.map(optionEntry) },
      ...flagHeadings.map((heading) => ({ title: heading, entries: below(heading, options).map(optionEntry) })),
      { title: 'Help', entries: [help] },
    ];
  const others = options.filter(({ isEveryday }) => !isEveryday);
  return [
    optionSection([...own, ...options.filter(({ isEveryday }) => isEveryday)]),
    {
      title: 'More options',
      entries: flagHeadings.flatMap((heading): Entry[] => {
        const names = below(heading, others).map(optionFlag);
        return names.length === 0 ? [] : [[heading, names.join(' ')]];
      }),
      note: `For details: spool ${name} --help --all`,
    },
  ];
};

const optionSection = (options: readonly CommandOption[]): Section => ({
  title: 'Options',
  entries: [...options.map(optionEntry), help],
});

/** `ralph [options] [prompt]` */
const termOf = (command: Command): string =>
  [command.name, ...(command.options.length > 0 ? ['[options]'] : []), ...argumentsOf(command)].join(' ');

/** `diff <change> [n]`, `ralph, loop [prompt]` */
const withArguments = (command: Command): string =>
  [command.alias === undefined ? command.name : `${command.name}, ${command.alias}`, ...argumentsOf(command)].join(' ');

const argumentsOf = ({ positionals }: Command): string[] => positionals.map(positionalText);

const optionEntry = (option: CommandOption): Entry => [usageOf(option), [option.help, ...notesOf(option)].join(' ')];

const notesOf = ({ aliases = [], ...option }: CommandOption): string[] => {
  const names = aliases.map((alias) => `--${alias}`).join(', ');
  const notes = [
    ...(names === '' ? [] : [`${aliases.length === 1 ? 'alias' : 'aliases'}: ${names}`]),
    ...(option.default === undefined ? [] : [`default: ${firstLine(option.default)}`]),
  ];
  return notes.length === 0 ? [] : [`(${notes.join('; ')})`];
};

const firstLine = (text: string): string => text.replace(/\n[\s\S]*/, ' …');

/** The text next to a term needs this many columns. If there are fewer, it is below the term. */
const narrowest = 36;
const indentBelow = ' '.repeat(6);

const render = ({ usage, summary, alias, sections, examples }: Help, columns: number): string => {
  const filled = sections.filter(({ entries }) => entries.length > 0);
  const termWidth = Math.max(...filled.flatMap(({ entries }) => entries.map(([term]) => term.length)));
  const isNarrow = columns - termWidth - 4 < narrowest;
  const indent = isNarrow ? indentBelow : ' '.repeat(termWidth + 4);
  const lines = ([term, text]: Entry): string[] => {
    const [first = '', ...rest] = wrap(text, columns - indent.length);
    const below = rest.map((line) => indent + line);
    if (isNarrow) return [...wrap(term, columns - 2).map((line) => `  ${line}`), indent + first, ...below];
    return [`  ${term}${' '.repeat(termWidth - term.length)}  ${first}`, ...below];
  };
  const parts = [
    [...wrap(`Usage: ${usage}`, columns), ...(alias === undefined ? [] : [`Alias: ${alias}`])],
    wrap(summary, columns),
    ...filled.map(({ title, entries, note }) => [
      `${title}:`,
      ...entries.flatMap(lines),
      ...(note === undefined ? [] : ['', ...wrap(note, columns)]),
    ]),
    ...(examples.length > 0 ? [examples.flatMap((line) => exampleRows(line, columns))] : []),
  ];
  return `${parts.map((part) => part.join('\n')).join('\n\n')}\n`;
};

/** Breaks a command between its arguments, so that it can be copied. */
const exampleRows = (line: string, columns: number): string[] => {
  if (line.length <= columns) return [line];
  const rows: string[] = [];
  for (const argument of line.trim().match(/(?:"[^"]*"|\S)+/g) ?? []) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + argument.length + 3 <= columns)
      rows[rows.length - 1] = `${last} ${argument}`;
    else rows.push(`${last === undefined ? '  ' : '    '}${argument}`);
  }
  return rows.map((row, index) => (index < rows.length - 1 ? `${row} \\` : row));
};

/** Every character of the help takes one column. */
const wrap = (text: string, columns: number): string[] => wrapText(text, columns, { widthOf: ({ length }) => length });
