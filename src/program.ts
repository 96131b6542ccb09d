import { Command as Parser, CommanderError, Option } from 'commander';
import { version } from './version.ts';
import { commands, groups } from './commands/index.ts';
import type { Call, Command, CommandOption } from './commands/command.ts';
import { userError } from './errors.ts';
import { createTerminal } from './report/terminal.ts';

export type Surroundings = Pick<Call, 'cwd' | 'env'>;

/** Finds the command that was typed and runs it; answers with the exit code. */
export const runCommandLine = async (argv: readonly string[], surroundings: Surroundings): Promise<number> => {
  let exitCode = 0;
  const program = buildProgram(async (command, [argument, second], typed) => {
    const { run } = await command.load();
    exitCode = await run({ ...surroundings, argument, second, typed, terminal: createTerminal(surroundings.env) });
  });
  if (argv.length === 0) {
    program.outputHelp();
    return 0;
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    throw userError('usage', wording(error, argv));
  }
  return exitCode;
};

type Invoke = (command: Command, args: readonly string[], typed: Call['typed']) => Promise<void>;

const buildProgram = (invoke: Invoke): Parser => {
  const program = newParser('spool')
    .description('Runs a coding agent on a change, again and again, until the change is done.')
    .version(version, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText(
      'after',
      `\nStart with:\n  spool init\n  spool create module <slug>\n  spool create change <slug> --module 001\n  spool ralph --change 001-01`,
    );
  const parents = new Map(
    Object.entries(groups).map(([name, summary]) => [name, newParser(name).description(summary).helpCommand(false)]),
  );
  for (const command of commands) {
    const [first, second] = command.name.split(' ') as [string, string?];
    (parents.get(first) ?? program).addCommand(buildCommand(command, second ?? first, invoke));
  }
  for (const parent of parents.values()) program.addCommand(parent);
  return program;
};

const buildCommand = (command: Command, name: string, invoke: Invoke): Parser => {
  const parser = newParser(name).description(command.summary);
  if (command.alias) parser.alias(command.alias);
  for (const argument of [command.argument, command.second])
    if (argument) parser.argument(argument.optional ? `[${argument.name}]` : `<${argument.name}>`, argument.help);
  for (const option of command.options) for (const parsed of optionsOf(option)) parser.addOption(parsed);
  parser.addHelpText('after', `\nExamples:\n${command.examples.map((example) => `  ${example}`).join('\n')}`);
  parser.action(async () => invoke(command, parser.args, typedOptions(parser, command.options)));
  return parser;
};

const newParser = (name: string): Parser =>
  new Parser(name)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, outputError: () => {} })
    .helpOption('-h, --help', 'show this help')
    .showSuggestionAfterError(true)
    .allowExcessArguments(false);

const optionsOf = ({ flags, help, aliases = [], fallback, repeats }: CommandOption): Option[] => {
  const also = aliases.length > 0 ? ` (also ${aliases.map((alias) => `--${alias}`).join(', ')})` : '';
  const standard = fallback === undefined ? '' : ` (default: ${fallback})`;
  const option = new Option(flags, `${help}${also}${standard}`);
  if (repeats) option.argParser((value: string, list?: readonly string[]) => [...(list ?? []), value]);
  return [option, ...aliases.map((alias) => new Option(`--${alias}`, help).hideHelp())];
};

/** Under the option's own name, whichever alias was typed. */
const typedOptions = (parser: Parser, options: readonly CommandOption[]): Call['typed'] =>
  Object.fromEntries(
    options.flatMap((option) => {
      const names = optionsOf(option).map((parsed) => parsed.attributeName());
      const given = names.find((name) => parser.getOptionValueSource(name) === 'cli');
      return given === undefined ? [] : [[option.name, parser.getOptionValue(given) as Call['typed'][string]]];
    }),
  );

const wording = (error: CommanderError, argv: readonly string[]): string => {
  if (error.code === 'commander.help') return `Which one? See "spool ${argv[0]} --help".`;
  const text = error.message.replace(/^error: /, '').replace('\n(Did you mean ', ' (did you mean ');
  const sentence = text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, '');
  const hint = error.code === 'commander.excessArguments' ? '; put quotes around a text with spaces' : '';
  const command = argv.find((word) => !word.startsWith('-'));
  const names = commands.flatMap(({ name, alias }) => [name.split(' ')[0], ...(alias ? [alias] : [])]);
  return `${sentence}${hint}. See "spool ${names.includes(command) ? `${command} ` : ''}--help".`;
};
