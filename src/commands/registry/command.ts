import { type FlagHeading, optionFlag, type Suggestions } from '../../config/flags.ts';
import type { RawFlags } from '../../config/resolve.ts';
import type { Terminal } from '../../report/terminal.ts';

/** A command as the command line sees it. Its implementation is imported when the command is called. */
export interface Command {
  /** One word, or two if the first is a group. */
  readonly name: string;
  readonly alias?: string;
  /** Where `spool --help` lists it. */
  readonly heading: CommandHeading;
  readonly summary: string;
  /** Required ones come first. */
  readonly positionals: readonly Positional[];
  readonly options: readonly CommandOption[];
  readonly examples: readonly string[];
  readonly load: () => Promise<{ run: (invocation: Invocation) => Promise<number> }>;
}

/** A command in the table of its heading. */
export type CommandRow = Omit<Command, 'heading'>;

/** In the order of the help. */
export const commandHeadings = ['Run', 'Inspect', 'Steer', 'Finish', 'Many machines', 'Set up'] as const;

export type CommandHeading = (typeof commandHeadings)[number];

export interface Positional {
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
  /** The last one may be given several times. */
  readonly repeatable?: true;
  /** What the shell completes it with. */
  readonly suggest?: Suggestions;
}

/** `[change]`, `<change>...` */
export const positionalText = ({ name, optional, repeatable }: Positional): string =>
  `${optional ? `[${name}]` : `<${name}>`}${repeatable ? '...' : ''}`;

export interface CommandOption {
  /** Camel case, the key in `Invocation.rawFlags`: `maxIterations` is typed as `--max-iterations`. */
  readonly name: string;
  readonly help: string;
  /** What stands for the value in the help. An option without a placeholder takes no value. */
  readonly placeholder?: string;
  /** Typed as `--no-<name>`, which sets it to false. */
  readonly negated?: boolean;
  /** May be given several times. Its value is then a list. */
  readonly repeatable?: boolean;
  /** Other names, as they are typed, without the dashes. */
  readonly aliases?: readonly string[];
  /** One letter, typed with one dash. */
  readonly short?: string;
  /** Shown in the help. */
  readonly default?: string;
  /** Where the help of `spool ralph` lists it. */
  readonly heading?: FlagHeading;
  /** One of the few that the short help describes. */
  readonly isEveryday?: true;
  /** What the shell completes its value with. */
  readonly suggest?: Suggestions;
}

/** `--max-iterations <n>`, or `-f, --follow` */
export const usageOf = (option: CommandOption): string => {
  const name = option.short === undefined ? optionFlag(option) : `-${option.short}, ${optionFlag(option)}`;
  return option.placeholder === undefined ? name : `${name} <${option.placeholder}>`;
};

/** One call of a command. `run` resolves to the exit code. */
export interface Invocation {
  /** Contains all required positionals. */
  readonly args: readonly string[];
  /** Only the options that were typed. */
  readonly rawFlags: RawFlags;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
}
