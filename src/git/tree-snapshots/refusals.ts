/** A file that cannot be added, with the message of git. */
export interface RefusedFile {
  readonly name: string;
  readonly why: string;
}

/** Errors of `git add` about single files. Pure. */
export interface Refusals {
  readonly files: readonly RefusedFile[];
  /** Repositories without a commit, of which nothing can be added. */
  readonly empty: readonly string[];
  /** The first other error. */
  readonly other: string | null;
}

/** `isThere` distinguishes file names from other quoted words. */
export const readRefusals = (stderr: string, isThere: (name: string) => boolean): Refusals => {
  const files = new Map<string, string>();
  const empty: string[] = [];
  let other: string | null = null;
  for (const line of stderr.split('\n')) {
    const text = /^(?:error|fatal): (.*)$/.exec(line)?.[1];
    if (text === undefined || isConsequence(text)) continue;
    const repository = /^'(.*)\/' does not have a commit checked out$/.exec(text)?.[1];
    const name = namesIn(text).find(isThere);
    if (repository !== undefined) empty.push(bytesOf(repository));
    else if (name === undefined) other ??= text;
    else if (!files.has(name)) files.set(name, text);
  }
  return { files: [...files].map(([name, why]) => ({ name, why })), empty, other };
};

/** Returns the filter that a message is about; null if it is about something else. */
export const filterIn = (why: string): string | null => {
  const at = why.indexOf(filterMark);
  return at !== -1 && why.endsWith(filterEnd) ? why.slice(at + filterMark.length, -filterEnd.length) : null;
};

const filterMark = ": clean filter '";
const filterEnd = "' failed";

export const isAboutLineEndings = (why: string): boolean => lineEndings.test(why);

const lineEndings = / would be replaced by (?:LF|CRLF) in (.+)$/s;

/** Parses the warnings of `core.safecrlf=warn`, of git before and since 2.37, as refusals. */
export const readWarnings = (stderr: string, isThere: (name: string) => boolean): RefusedFile[] =>
  stderr.split('\n').flatMap((line) => {
    const text =
      /^warning: in the working copy of '(?<name>.+)', (?<from>\w+) will be replaced by (?<to>\w+) /.exec(line) ??
      /^warning: (?<from>\w+) will be replaced by (?<to>\w+) in (?<name>.+?)\.?$/.exec(line);
    if (!text?.groups) return [];
    const { name = '', from, to } = text.groups;
    const file = bytesOf(name);
    return isThere(file) ? [{ name: file, why: `${from} would be replaced by ${to} in ${name}` }] : [];
  });

/** A follow-up of another message, or a summary. */
const isConsequence = (text: string): boolean =>
  /^external filter .* failed|^(?:adding|updating) files failed$/.test(text);

/** Returns possible file names, the most likely first. */
const namesIn = (text: string): string[] => {
  const found = [
    text.endsWith(filterEnd) ? text.slice(0, Math.max(0, text.lastIndexOf(filterMark))) || undefined : undefined,
    lineEndings.exec(text)?.[1],
    /^open\("(.+)"\): /.exec(text)?.[1],
    ...[...text.matchAll(/'([^']+)'/g)].map(([, quoted]) => quoted),
    /'(.+)'/.exec(text)?.[1],
  ];
  return found.filter((name) => name !== undefined).map(bytesOf);
};

/** Converts the text of a message to bytes, as names are stored. */
const bytesOf = (name: string): string => Buffer.from(name, 'utf8').toString('latin1');
