import {
  type Command,
  commandHeadings,
  type CommandOption,
  positionalText,
  usageOf,
} from '../commands/registry/command.ts';
import { commands } from '../commands/registry/registry.ts';
import { configKeys, envOf, type FlagName, flagHeadings, flagNames, canComeFrom } from '../config/flags.ts';

/** The man page of the program in roff; scripts/build.mjs writes it into the package. */
export const manPage = (version: string): string =>
  [
    `.TH SPOOL 1 "" "Spool ${escape(version)}" "User Commands"`,
    '.SH NAME',
    String.raw`spool \- run a coding agent in a loop until a change is done`,
    '.SH SYNOPSIS',
    '.B spool',
    String.raw`.RI < command "> [" options ]`,
    '.SH DESCRIPTION',
    ...paragraph(
      'Spool runs a coding agent CLI in a loop on a change until the change is done, and verifies that it is. It stops when the agent prints its completion promise and the checks pass, or at a limit.',
    ),
    '.SH COMMANDS',
    ...commandHeadings.flatMap((heading) => [
      `.SS ${escape(heading)}`,
      ...commands.filter((command) => command.heading === heading).flatMap(aboutCommand),
    ]),
    '.SH OPTIONS OF SPOOL RALPH',
    ...flagHeadings.flatMap((heading) => [
      `.SS ${escape(heading)}`,
      ...ralph()
        .options.filter((option) => option.heading === heading)
        .flatMap(aboutFlag),
    ]),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, meaning]) => term(code, meaning)),
    '.SH ENVIRONMENT',
    ...paragraph('Variables set what the flags of spool ralph set. A flag takes precedence.'),
    ...flagNames.filter((name) => canComeFrom('env', name)).flatMap(aboutVariable),
    '.SH FILES',
    ...term(
      '.spool/config.json',
      `Settings of the project: ${configKeys.join(', ')}, worktree, env, sources, changes, harnesses.`,
    ),
    ...term('.spool/changes/, .spool/modules/', 'Changes and modules.'),
    ...term('.spool/.state/', 'State, history and logs of runs.'),
    ...term('$XDG_STATE_HOME/spool/', 'What you trust, and records that agents cannot change.'),
    '.SH EXAMPLES',
    '.nf',
    ...ralph().examples.map(escape),
    '.fi',
    '',
  ].join('\n');

const ralph = (): Command => commands.find(({ name }) => name === 'ralph')!;

const exitCodes = [
  ['0', 'Complete, or the query succeeded.'],
  ['1', 'Failed.'],
  ['2', 'Usage or configuration error.'],
  ['3', 'A limit was reached.'],
  ['4', 'Blocked: the agent gave up, or nothing changed for too long.'],
  ['70', 'A bug in Spool.'],
  ['129, 130, 143', 'Interrupted by SIGHUP, SIGINT or SIGTERM.'],
] as const;

/** The options of ralph are in a separate section. */
const aboutCommand = (command: Command): string[] => {
  const { name, alias, positionals, options, summary } = command;
  const args = positionals.map(positionalText);
  const names = alias === undefined ? name : `${name}, ${alias}`;
  return [
    ...term(`spool ${[names, ...args].join(' ')}`, `${summary}.`),
    ...(name === 'ralph' || options.length === 0 ? [] : ['.RS', ...options.flatMap(aboutOption), '.RE']),
  ];
};

const aboutOption = (option: CommandOption): string[] => term(usageOf(option), `${notesOf(option)}.`);

const aboutFlag = (option: CommandOption): string[] => {
  const aliases = (option.aliases ?? []).map((alias) => `, --${alias}`).join('');
  return term(`${usageOf(option)}${aliases}`, `${notesOf(option)}.`);
};

const notesOf = ({ help, ...option }: CommandOption): string =>
  option.default === undefined ? help : `${help}. Default: ${option.default.split('\n')[0]}`;

const aboutVariable = (name: FlagName): string[] => {
  const option = ralph().options.find((each) => each.name === name)!;
  return term(envOf(name), `As ${usageOf(option)}.`);
};

const term = (title: string, text: string): string[] => ['.TP', `.B ${escape(title)}`, escape(text)];

const paragraph = (text: string): string[] => [escape(text)];

/** A backslash, a dash, and a dot or an apostrophe at the start of a line have a meaning in roff. */
const escape = (text: string): string =>
  text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll('"', String.raw`\(dq`)
    .replaceAll(/^([.'])/gm, String.raw`\&$1`)
    .replaceAll('…', '...');
