import { type AST, RegExpParser } from '@eslint-community/regexpp';

export interface Pattern {
  readonly source: string;
  readonly flags: string;
}

/** A text of any length on which a pattern is slow, if it is slow on any text of this form. */
export interface Attack {
  readonly before: string;
  readonly pump: string;
  readonly behind: string;
}

/** Longer pumps get longer texts, so that quadratic work takes about the same time for each. */
export const attackText = ({ before, pump, behind }: Attack, size: number): string =>
  before + pump.repeat(Math.ceil(size / Math.sqrt(pump.length))) + behind;

/**
 * Attacks that cause backtracking: repetitions of what the pattern repeats and of its prefixes, followed by text that
 * does not match. Derived from the pattern alone, so that new patterns need no list.
 */
export const attacksOn = ({ source, flags }: Pattern): Attack[] => {
  const unicode = flags.includes('u');
  const tree = new RegExpParser({ ecmaVersion: 2025 }).parsePattern(source, 0, source.length, { unicode });
  const attacks = new Map<string, Attack>();
  const add = (attack: Attack) => attack.pump !== '' && attacks.set(JSON.stringify(attack), attack);
  for (const { starts, repeated, beginnings } of pumpsIn(tree, unicode)) {
    for (const pump of repeated)
      for (const before of new Set(['', 'a', ...starts]))
        for (const behind of [...ends, `${repeated.at(-1)!}\0`]) add({ before, pump, behind });
    for (const pump of beginnings) for (const behind of ends) add({ before: '', pump, behind });
  }
  return [...attacks.values()];
};

/** Hardly any pattern matches these. */
const ends = ['', '\0', '\n', 'a\u2028b'];

/** What can be repeated at one position of a pattern. */
interface Pumps {
  /** Texts that match up to this position. */
  readonly starts: readonly string[];
  readonly repeated: readonly string[];
  /** The same texts as pumps. Each repetition is another position at which a match can start. */
  readonly beginnings: readonly string[];
}

const pumpsIn = (tree: AST.Pattern, unicode: boolean): Pumps[] => {
  const found: Pumps[] = [];
  /** `starts` match up to this node. Returns texts that match up to its end. */
  const visit = (node: AST.Node, starts: readonly string[]): readonly string[] => {
    switch (node.type) {
      case 'Pattern':
      case 'Group':
      case 'CapturingGroup':
        return few(node.alternatives.flatMap((alternative) => visit(alternative, starts)));
      case 'Alternative':
        return node.elements.reduce((texts, element) => visit(element, texts), starts);
      case 'Assertion':
        if (node.kind === 'lookahead') node.alternatives.forEach((each) => visit(each, starts));
        if (node.kind === 'lookbehind') node.alternatives.forEach((each) => visit(each, ['']));
        return starts;
      case 'Quantifier': {
        const once = visit(node.element, starts);
        if (node.max >= manyTimes) found.push(pumpsAt(node, starts, once));
        return few([...many(starts, once, node.min), ...(node.min === 0 ? starts : [])]);
      }
      default: {
        const samples = samplesOf(node, unicode).slice(0, 2);
        return few(starts.flatMap((text) => samples.map((sample) => text + sample)));
      }
    }
  };
  const pumpsAt = (node: AST.Quantifier, starts: readonly string[], once: readonly string[]): Pumps => {
    const samples = samplesOf(node.element, unicode).filter(Boolean);
    return {
      starts: few([...starts, ...once]),
      repeated: [...samples, ...few(samples).flatMap((text) => [`${text}\n`, `${text}a`])],
      beginnings: few([...starts, ...once]).flatMap((text) => [text, `${text}\n`, `\n${text}`, `${text}-`]),
    };
  };
  const whole = visit(tree, ['']);
  const cutOff = few(whole).flatMap((text) => [text, text.slice(0, -1), text.slice(0, Math.ceil(text.length / 2))]);
  return [...found, { starts: [], repeated: [], beginnings: cutOff }];
};

/** Repeats the last part as often as the pattern requires. */
const many = (starts: readonly string[], once: readonly string[], min: number): string[] =>
  once.map((text) => {
    const start = starts.find((each) => text.startsWith(each)) ?? '';
    return start + text.slice(start.length).repeat(Math.min(Math.max(min, 1), maxSampled));
  });

const manyTimes = 9;
const maxSampled = 40;

/** A sample of at most four. */
const few = (texts: readonly string[]): string[] => {
  const all = [...new Set(texts)];
  return all.length <= 4 ? all : [all[0]!, all[1]!, all[Math.floor(all.length / 2)]!, all.at(-1)!];
};

/** Texts that a part of a pattern matches, the shortest of each alternative. */
const samplesOf = (node: AST.Node, unicode: boolean): string[] => {
  switch (node.type) {
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives.flatMap((alternative) => samplesOf(alternative, unicode)).slice(0, 12);
    case 'Alternative':
      return node.elements.reduce<string[]>(
        (texts, element) => {
          const samples = samplesOf(element, unicode).slice(0, 2);
          return samples.length === 0 ? texts : few(texts.flatMap((text) => samples.map((sample) => text + sample)));
        },
        [''],
      );
    case 'Quantifier': {
      const samples = samplesOf(node.element, unicode).slice(0, 2);
      const times = Math.min(Math.max(node.min, 1), maxSampled);
      return [...(node.min === 0 ? [''] : []), ...samples.map((sample) => sample.repeat(times))];
    }
    case 'Character':
      return [String.fromCodePoint(node.value)];
    case 'CharacterSet':
    case 'CharacterClass': {
      const one = new RegExp(`^${node.raw}$`, unicode ? 'u' : '');
      return pool.filter((char) => one.test(char)).slice(0, 5);
    }
    default:
      return [];
  }
};

/** Characters that the patterns use, the most common ones first. */
const pool = [...' \t\n0a-.#*>`~|:=[(<"\'_/A$!?,;{}é中😀—’…\u2028\0'];
