import type { TestResult } from '../test-result.ts';
import {
  createResults,
  deepest,
  eachLine,
  extended,
  isFileName,
  ReportProblem,
  type Results,
  shortened,
} from './report.ts';

export const isTapVersion = (line: string): boolean => /^TAP version \d+\s*$/.test(line);
export const isTapPlan = (line: string): boolean => /^1\.\.\d+\s*(?:#.*)?$/s.test(line);
export const isTapTest = (line: string): boolean => /^(?:not )?ok(?:\s|$)/.test(line);

/**
 * Reads TAP of version 12 to 14, also several reports in one text, and other lines between those of the report. A test
 * with tests below it is their suite. A report that does not have as many tests as it planned proves nothing.
 */
export const readTap = (text: string): TestResult[] => {
  const collected = createResults();
  let parser = createParser();
  for (const line of eachLine(text)) {
    if (isTapVersion(line) && parser.hasTests()) {
      parser.end(collected);
      parser = createParser();
    }
    parser.read(line);
  }
  parser.end(collected);
  return collected.results;
};

interface Point {
  readonly name: string;
  readonly isOk: boolean;
  readonly directive: 'skipped' | 'todo' | null;
  readonly group: Group | null;
  durationMs: number | null;
  file: string | null;
  message: string;
  /** node:test says so, also of a suite without tests. */
  isSuite: boolean;
  children: readonly Point[];
}

/** What a comment announces: the tests of tape are comments, with an assertion in each line below. */
interface Group {
  readonly name: string;
  readonly directive: Point['directive'];
  readonly points: Point[];
}

interface Frame {
  readonly indent: number;
  readonly points: Point[];
  /** Tests of a deeper level whose suite follows. */
  pending: Point[];
  plan: number | null;
  /** The suite, if it came first: `ok 1 - suite {`. */
  readonly owner: Point | null;
}

const createParser = () => {
  const root: Frame = { indent: 0, points: [], pending: [], plan: null, owner: null };
  const frames = [root];
  const groups: Group[] = [];
  let owner: Point | null = null;
  let last: Point | null = null;
  let isYaml = false;
  let count = 0;
  let hasSubtests = false;
  let hasSummary = false;

  const close = () => {
    const frame = frames.pop()!;
    checkPlan(frame);
    const above = frames.at(-1)!;
    const all = [...frame.points, ...frame.pending];
    if (frame.owner !== null) frame.owner.children = all;
    else for (const point of all) above.pending.push(point);
  };
  const frameAt = (indent: number): Frame => {
    while (frames.length > 1 && indent < frames.at(-1)!.indent) close();
    if (indent > frames.at(-1)!.indent) {
      if (frames.length > deepest) throw new ReportProblem(`is nested more than ${deepest} levels deep`);
      frames.push({ indent, points: [], pending: [], plan: null, owner });
    }
    owner = null;
    return frames.at(-1)!;
  };
  const readYaml = (content: string) => {
    if (content === '...') isYaml = false;
    else if (last !== null) {
      const [, ms] = /^duration_ms: (\d+(?:\.\d+)?)/.exec(content) ?? [];
      const [, file] = /^location: ['"]?([^'"]{1,1000}?):\d+:\d+['"]?$/.exec(content) ?? [];
      if (ms !== undefined) last.durationMs = Number(ms);
      else if (file !== undefined) last.file = file;
      else if (/^type: ['"]?suite['"]?$/.test(content)) last.isSuite = true;
      else last.message = extended(last.message, `${content}\n`);
    }
  };
  const readComment = (content: string, indent: number) => {
    if (content.startsWith('# Subtest')) hasSubtests = true;
    if (/^# (?:tests|pass)\s+\d+$/.test(content)) hasSummary = true;
    if (indent > 0 || summary.test(content) || groups.length > mostGroups) return;
    const [, directive, name] = /^#\s*(?:(SKIP|TODO)\s+)?(.*)$/s.exec(content) ?? [];
    if (name) groups.push({ name, directive: directiveOf(directive), points: [] });
  };

  return {
    hasTests: () => count > 0 || root.plan !== null,
    read: (line: string): void => {
      const content = line.trim();
      if (content === '') return;
      if (isYaml) return readYaml(content);
      if (content === '---' && last !== null) {
        isYaml = true;
        return;
      }
      const indent = line.length - line.trimStart().length;
      const point = pointIn(content);
      const plan = /^1\.\.(\d{1,9})\s*(?:#.*)?$/s.exec(content)?.[1];
      if (content.startsWith('#')) readComment(content, indent);
      else if (/^Bail out!/i.test(content))
        throw new ReportProblem(`bailed out (${shortened(content.slice(9), 100) || 'no reason'})`);
      else if (plan !== undefined) frameAt(indent).plan = Number(plan);
      else if (content === '}') frameAt(indent);
      else if (point !== null) {
        if (++count > mostPoints) throw new ReportProblem(`has more than ${mostPoints} tests`);
        const frame = frameAt(indent);
        const group = frames.length === 1 ? (groups.at(-1) ?? null) : null;
        last = { ...point.found, group, children: frame.pending };
        frame.pending = [];
        frame.points.push(last);
        group?.points.push(last);
        owner = point.opens ? last : null;
      }
    },
    end: (collected: Results): void => {
      while (frames.length > 1) close();
      checkPlan(root);
      if (root.plan === null) throw new ReportProblem('has no plan (1..N), so it may be incomplete');
      if (!hasSubtests && hasSummary && groups.length > 0) addGroups(root.points, groups, collected);
      else
        for (const each of [...root.points, ...root.pending]) addPoint(each, { names: [], directive: null }, collected);
    },
  };
};

const mostPoints = 200_000;
const mostGroups = 100_000;

const checkPlan = ({ plan, points }: Frame): void => {
  if (plan !== null && plan !== points.length)
    throw new ReportProblem(`is incomplete: ${plan} tests were planned, and ${points.length} are in it`);
};

/** What runners count in comments at the end. */
const summary =
  /^#\s{0,8}(?:tests|suites|pass|fail|ok|skip|skipped|todo|cancelled|time|duration_ms)\b[\s=]{0,8}\d{0,12}(?:\.\d{1,12})?\w{0,4}$/;

const directiveOf = (text: string | undefined): Point['directive'] =>
  text === undefined ? null : /^skip/i.test(text) ? 'skipped' : /^todo/i.test(text) ? 'todo' : null;

const pointIn = (content: string) => {
  const start = /^(not )?ok\b(?:\s+\d+)?(?=\s|$)(?:\s+-(?=\s|$))?/.exec(content);
  if (start === null) return null;
  const rest = content.slice(start[0].length).trim();
  const opens = rest === '{' || rest.endsWith(' {');
  const described = opens ? rest.slice(0, -1).trim() : rest;
  const { name, directive, ms } = splitDirective(described);
  return {
    opens,
    found: {
      name: name.replaceAll(/\\([\\#])/g, '$1'),
      isOk: start[1] === undefined,
      directive,
      durationMs: ms,
      file: null,
      message: '',
      isSuite: false,
    },
  };
};

/** Cuts off `# SKIP reason`, `# TODO reason` and `# time=1.5ms`, the last of them that no backslash escapes. */
const splitDirective = (text: string): { name: string; directive: Point['directive']; ms: number | null } => {
  let name = text;
  let ms: number | null = null;
  let directive: Point['directive'] = null;
  for (let at = name.lastIndexOf('#'); at !== -1; at = at === 0 ? -1 : name.lastIndexOf('#', at - 1)) {
    const isSeparate = at === 0 || /\s/.test(name[at - 1]!);
    const [, word, time] = isSeparate
      ? (/^#\s*(?:(skip\S*|todo)(?:\s|:|$)|time=(\d+(?:\.\d+)?)\s?ms)/i.exec(name.slice(at, at + 60)) ?? [])
      : [];
    if (word === undefined && time === undefined) continue;
    if (word !== undefined) directive = directiveOf(word);
    else ms = Number(time);
    name = name.slice(0, at).trim();
    if (at === 0) break;
  }
  return { name, directive, ms };
};

interface Above {
  readonly names: readonly string[];
  readonly directive: Point['directive'];
}

const addPoint = (point: Point, above: Above, collected: Results): boolean => {
  const directive = above.directive ?? point.directive;
  const names = [...above.names, point.name];
  const hasFailed = point.children.reduce(
    (any, child) => addPoint(child, { names, directive }, collected) || any,
    false,
  );
  const status = directive ?? (point.isOk ? 'passed' : 'failed');
  // A suite may fail although its tests pass.
  if (point.children.length > 0 && (hasFailed || status !== 'failed')) return hasFailed;
  if (point.isSuite && status === 'passed') return false;
  collected.add({ ...placed(names, point.file), status, message: point.message, durationMs: point.durationMs });
  return status === 'failed';
};

/** The outermost name may be the file, and a name may have several in it. */
const placed = (names: readonly string[], file: string | null) => {
  const all = names.length === 1 && isFileName(names[0]!.split(' > ')[0]!) ? names[0]!.split(' > ') : names;
  return isFileName(all[0] ?? '') && all.length > 1 ? { names: all.slice(1), file: all[0]! } : { names: all, file };
};

/** Each comment is a test, and passes if all its assertions do. */
const addGroups = (points: readonly Point[], groups: readonly Group[], { add }: Results): void => {
  for (const { name, isOk, directive, message } of points.filter(({ group }) => group === null))
    add({ names: [name], status: directive ?? (isOk ? 'passed' : 'failed'), message });
  for (const { name, directive, points: own } of groups) {
    const failed = own.find((point) => !point.isOk && point.directive === null);
    const open = own.find((point) => point.directive !== null)?.directive ?? directive;
    if (own.length === 0 && directive === null) continue;
    const status = failed === undefined ? (open ?? 'passed') : 'failed';
    add({ names: [name], status, message: failed === undefined ? null : `${failed.name}\n${failed.message}` });
  }
};
