/** Signs in the output of a run, or the ASCII that replaces them. */
export interface Symbols {
  readonly separator: string;
  readonly ellipsis: string;
  readonly rule: string;
  readonly bullet: string;
  readonly edit: string;
  readonly other: string;
  readonly result: string;
  readonly running: string;
  readonly waiting: string;
  readonly queued: string;
  /** Replaces the signs of a rendered text. */
  readonly replace: (text: string) => string;
}

const unicode: Symbols = {
  separator: ' · ',
  ellipsis: '…',
  rule: '─',
  bullet: '•',
  edit: '✎',
  other: '→',
  result: '●',
  running: '●',
  waiting: '◌',
  queued: '·',
  replace: (text) => text,
};

const ascii: Symbols = {
  separator: ', ',
  ellipsis: '...',
  rule: '-',
  bullet: '-',
  edit: 'edit',
  other: '>',
  result: '*',
  running: '*',
  waiting: '~',
  queued: '.',
  replace: (text) => text.replaceAll(/[●■✔✘·→…↑↓✎█▉▊▋▌▍▎▏−─]/g, (sign) => inAscii[sign] ?? '#'),
};

/** Each is as wide as the sign. Parts of a bar are not listed. */
const inAscii: Readonly<Record<string, string>> = {
  '●': '*',
  '■': '-',
  '✔': '+',
  '✘': 'x',
  '·': '-',
  '→': '>',
  '…': '~',
  '↑': '^',
  '↓': 'v',
  '✎': '*',
  '−': '-',
  '─': '-',
};

export const symbolsFor = (env: NodeJS.ProcessEnv): Symbols => (showsUnicode(env) ? unicode : ascii);

/** The Linux console has a font of few characters. */
const withoutUnicode = new Set<string | undefined>(['dumb', 'linux']);

const showsUnicode = (env: NodeJS.ProcessEnv): boolean => {
  if (withoutUnicode.has(env.TERM)) return false;
  if (process.platform === 'win32') return true;
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '');
};
