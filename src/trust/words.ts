import { posix } from 'node:path';
import { entriesAt } from '../guard/deciders/imports.ts';
import { expand, type Files, looser } from '../guard/deciders/scope.ts';
import { shellCommands } from '../guard/deciders/shell.ts';
import { isShell, shellNames } from '../text/shell-names.ts';

export interface WordsFound {
  readonly files: readonly string[];
  /** Syntax and folders whose files are not all known. */
  readonly unclear: readonly string[];
}

/**
 * Returns the files of the project that the words of a command lead to, regardless of what the command does with them: also words
 * in quotes and here-documents, and parts of words. A folder stands for the files below it. With `all`, also files that
 * are copied and can be run later, and files outside of the project.
 */
export const namedByWords = (whole: string, files: Files, { all }: { readonly all: boolean }): WordsFound => {
  const command = whole.slice(0, maxCommandLength);
  const forms = [...unclearForms(command), ...(whole.length > maxCommandLength ? ['a long command'] : [])];
  const found = new Set<string>();
  const unclear = new Set(forms);
  const isOpen = forms.length > 0 || (all && writes.test(command));
  const words = isOpen ? allWords(command).map((word) => ({ word, isBroad: true })) : runWords(command, { all });
  const unique = new Map(words.map((each) => [`${each.isBroad} ${each.word}`, each]));
  for (const { word, isBroad } of unique.values())
    for (const path of pathsIn(word).filter((each) => all || isBelow(each))) {
      // A word like `build` may be an argument of any program.
      if (!isBroad && !all && !word.includes('/')) {
        if (files.isFile(path)) found.add(path);
        continue;
      }
      for (const file of filesAt(path, files)) found.add(file);
      if (!isBelow(path) || !isFolder(path, files)) continue;
      const below = filesBelow(path, files);
      if (below === null) unclear.add(`${path}/`);
      for (const file of below ?? []) found.add(file);
    }
  return { files: [...found], unclear: [...unclear] };
};

const maxCommandLength = 10_000;

/** Returns the files that the first words of a script name, relative to the project or to its own folder. */
export const namedInScript = (
  path: string,
  files: Files,
  maxWords: number,
): { readonly files: readonly string[]; readonly names: number } => {
  const folder = posix.dirname(path);
  const text = files.read(path) ?? '';
  const words = text.includes('\0') ? [] : [...new Set(text.split(separators))].filter(isPathLike).slice(0, maxWords);
  const found = words
    .flatMap(pathsIn)
    .flatMap((each) => [...filesAt(each, files), ...filesAt(posix.join(folder, each), files)]);
  return { files: [...new Set(found)], names: words.length };
};

const separators = /[\s"'`;&|()<>,]+/;
const isPathLike = (word: string) => word.length < 200 && /[./]/.test(word) && /\w/.test(word);

/** Returns syntax that passes code to a shell or an interpreter, or changes which program a name runs. */
const unclearForms = (command: string): string[] => [
  ...forms.flatMap(([form, pattern]) => (pattern.test(command) ? [form] : [])),
  ...(shellCommands(command).some(hasCode) ? ['code in an argument'] : []),
];

/** With possible prefixes: `| timeout 5 /bin/sh`. */
const pipeToShell = new RegExp(
  String.raw`\|&?\s*(?:(?:(?:[\w./-]{0,64}/)?(?:env|sudo|exec|command|nice|nohup|timeout|setsid|stdbuf|busybox|time)|\w{1,32}=[\w./-]{0,64}|-[\w=-]{0,32}|[\d.]{1,8}[smhd]?|\{|\()[ \t]{1,8}){0,8}(?:[\w./-]{0,64}/)?(?:${shellNames}|node|nodejs|deno|bun|python[\d.]{0,8}|ruby|perl|php|lua|xargs|parallel|source|\.)(?![\w./-])`,
);

const forms: readonly (readonly [string, RegExp])[] = [
  ['a here-document', /<</],
  ['a pipe to a shell', pipeToShell],
  ['a process substitution', /<\(/],
  ['trap', /\btrap\b/],
  ['eval', /(?<!-)\beval\b/],
  ['alias', /\balias\b/],
  ['a function', /\w\s{0,8}\(\s{0,8}\)/],
  ['a search path', /\b(?:\w{0,32}PATH|PERL5LIB|RUBYLIB)\+?=/],
  ['a setting of an interpreter', /\b(?:NODE_OPTIONS|BASH_ENV|ENV|LD_PRELOAD|RUBYOPT|PERL5OPT|PYTHONSTARTUP|IFS)=/],
];

const interpreter =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy3?|ruby|perl|php|pwsh|Rscript|lua|awk|gawk)$/;
const code = /^(?:-[a-zA-Z]*[ecpr]|--eval|--print|eval|--command|-Command)(?:=|$)/;

/** For example `node -e 'require("./tools/x.js")'`. Code of a shell is parsed elsewhere. */
const hasCode = (words: readonly string[]): boolean => {
  const program = words.findIndex((word) => interpreter.test(posix.basename(word)));
  return program !== -1 && words.slice(program + 1).some((word) => code.test(word));
};

/** Programs that neither run nor copy the files that they are given. */
const reads =
  /^(?:cd|pushd|popd|rm|ls|test|\[|mkdir|rmdir|touch|chmod|chown|diff|cmp|stat|wc|du|echo|printf|cat|head|tail|grep|cut|sort|uniq|tr|jq|export|exit)$/;
const copies = /^(?:cp|mv|ln|install|rsync)$/;
/** The parser finds what these run, except for a file given by an option. */
const understood = /^(?:npm|pnpm|yarn|bun|g?make|just)$/;
const fileOption = /^(?:-f|--file|--makefile|--justfile)/;
/** A command that writes a file may run it afterwards. */
const writes = />(?!\s{0,8}(?:&|\/dev\/null))/;

interface Word {
  readonly word: string;
  /** An argument of a shell or an interpreter, which can also run a folder. */
  readonly isBroad: boolean;
}

/** Returns the words of commands that may run what they name, including commands nested in words. */
const runWords = (text: string, { all, depth = 0 }: { readonly all: boolean; readonly depth?: number }): Word[] =>
  shellCommands(text).flatMap((words) => {
    const isBroad = words.some((word) => interpreter.test(posix.basename(word)) || isShell(posix.basename(word)));
    return mayRun(words, all).flatMap((word) =>
      /\s/.test(word.trim()) && depth < maxDepth ? runWords(word, { all, depth: depth + 1 }) : [{ word, isBroad }],
    );
  });

const mayRun = (words: readonly string[], all: boolean): readonly string[] => {
  const start = words.findIndex((word) => !/^\w+=/.test(word));
  const program = words[start] ?? '';
  if (reads.test(program) || (copies.test(program) && !all)) return words.slice(0, start);
  if (!understood.test(program) || all) return words;
  return words.filter((word, index) => fileOption.test(word) || fileOption.test(words[index - 1] ?? ''));
};

const maxDepth = 3;

/** Returns all words, as a shell parses them and as written. */
export const allWords = (text: string): string[] => [
  ...new Set([...shellCommands(text).flat(), ...text.replaceAll('\\', '').split(separators)]),
];

/** Returns the paths that a word may stand for: the whole word, and the part after `=`, `:`, `-f` or a variable. */
const pathsIn = (word: string): string[] => {
  if (word.length > maxWordLength) return [];
  const parts = [word, ...word.split(/[=:,@"'`()[\]{}\s]+/)].flatMap((part) =>
    /^-\w./.test(part) ? [part, part.slice(2)] : [part],
  );
  const paths = parts.flatMap((part) => {
    const pattern = part.replaceAll(variable, '*');
    return pattern.startsWith('*/') ? [part, pattern, pattern.slice(2)] : [part, pattern];
  });
  return [...new Set(paths.filter((path) => !/^[*./-]*$/.test(path)).map((path) => posix.normalize(path)))].map(
    (path) => path.replace(/(?<=.)\/$/, ''),
  );
};

const maxWordLength = 4096;
const variable = /\$(?:\(\)|\{[^}]{0,100}\}|\w+)/g;

/** Returns the files that a path leads to: itself, what Node resolves it to, or a file that is a prefix of the path. */
const filesAt = (path: string, files: Files): string[] => {
  const matches = [...new Set([path, looser(path)])].flatMap((each) => expand(files, each)).slice(0, maxFiles);
  const found = matches.flatMap((each) => entriesAt(files, each));
  return found.length > 0 ? found : prefixesOf(path).filter((each) => files.isFile(each));
};

/** Returns the parent paths, for example the archive in `tools/app.zip/__main__.py`. */
const prefixesOf = (path: string): string[] => {
  const parts = path.split('/').slice(0, 32);
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
};

const maxFiles = 200;

const isFolder = (path: string, files: Files) => !files.isFile(path) && files.list(path).length > 0;

/** Returns null if there are too many. */
const filesBelow = (folder: string, files: Files): string[] | null => {
  const paths = new Set([folder]);
  for (const path of paths) {
    if (paths.size > maxFiles) return null;
    const names = files.isFile(path) ? [] : files.list(path);
    for (const name of names) if (!/^(?:node_modules|\.git)$/.test(name)) paths.add(posix.join(path, name));
  }
  return [...paths].filter((path) => files.isFile(path));
};

const isBelow = (path: string) => !posix.isAbsolute(path) && path !== '..' && !path.startsWith('../');
