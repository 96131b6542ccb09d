import { extended, maxDepth, ReportProblem, shortened } from './report.ts';

export interface Point {
  readonly name: string;
  readonly isOk: boolean;
  readonly directive: 'skipped' | 'todo' | null;
  readonly group: Group | null;
  durationMs: number | null;
  file: string | null;
  message: string;
  /** node:test says so, even of a suite without tests. */
  isSuite: boolean;
  children: readonly Point[];
}

/** What a comment announces: the tests of tape are comments, with an assertion in each line below. */
export interface Group {
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

/** One report while it is read. */
export interface TapReport {
  /** From the outermost level to the current one. */
  readonly frames: [Frame, ...Frame[]];
  readonly groups: Group[];
  /** The suite whose tests follow. */
  owner: Point | null;
  /** The test that a YAML block is about. */
  last: Point | null;
  isYaml: boolean;
  count: number;
  hasSubtests: boolean;
  hasSummary: boolean;
}

export const newReport = (): TapReport => ({
  frames: [{ indent: 0, points: [], pending: [], plan: null, owner: null }],
  groups: [],
  owner: null,
  last: null,
  isYaml: false,
  count: 0,
  hasSubtests: false,
  hasSummary: false,
});

export const hasTests = ({ count, frames: [root] }: TapReport): boolean => count > 0 || root.plan !== null;

export const readLine = (report: TapReport, line: string): void => {
  const content = line.trim();
  if (content === '') return;
  if (report.isYaml) return readYaml(report, content);
  if (content === '---' && report.last !== null) {
    report.isYaml = true;
    return;
  }
  const indent = line.length - line.trimStart().length;
  const point = pointIn(content);
  const plan = /^1\.\.(\d{1,9})\s*(?:#.*)?$/s.exec(content)?.[1];
  if (content.startsWith('#')) readComment(report, content, indent);
  else if (/^Bail out!/i.test(content))
    throw new ReportProblem(`bailed out (${shortened(content.slice(9), 100) || 'no reason'})`);
  else if (plan !== undefined) frameAt(report, indent).plan = Number(plan);
  else if (content === '}') frameAt(report, indent);
  else if (point !== null) addTest(report, point, indent);
};

/** Returns the tests of the outermost level. Throws if the report is incomplete. */
export const finishReport = ({ frames }: TapReport): { readonly points: Point[]; readonly pending: Point[] } => {
  while (frames.length > 1) closeFrame(frames);
  const [root] = frames;
  checkPlan(root);
  if (root.plan === null) throw new ReportProblem('has no plan (1..N), so it may be incomplete');
  return root;
};

const closeFrame = (frames: TapReport['frames']): void => {
  const frame = frames.pop()!;
  checkPlan(frame);
  const above = frames.at(-1)!;
  const all = [...frame.points, ...frame.pending];
  if (frame.owner !== null) frame.owner.children = all;
  else for (const point of all) above.pending.push(point);
};

/** Closes deeper levels, and opens this one if it is new. */
const frameAt = (report: TapReport, indent: number): Frame => {
  const { frames, owner } = report;
  while (frames.length > 1 && indent < frames.at(-1)!.indent) closeFrame(frames);
  if (indent > frames.at(-1)!.indent) {
    if (frames.length > maxDepth) throw new ReportProblem(`is nested more than ${maxDepth} levels deep`);
    frames.push({ indent, points: [], pending: [], plan: null, owner });
  }
  report.owner = null;
  return frames.at(-1)!;
};

const maxPoints = 200_000;
const maxGroups = 100_000;

const addTest = (report: TapReport, { found, opens }: FoundPoint, indent: number): void => {
  if (++report.count > maxPoints) throw new ReportProblem(`has more than ${maxPoints} tests`);
  const frame = frameAt(report, indent);
  const group = report.frames.length === 1 ? (report.groups.at(-1) ?? null) : null;
  const point: Point = { ...found, group, children: frame.pending };
  frame.pending = [];
  frame.points.push(point);
  group?.points.push(point);
  report.last = point;
  report.owner = opens ? point : null;
};

const readYaml = (report: TapReport, content: string): void => {
  const { last } = report;
  if (content === '...') report.isYaml = false;
  else if (last !== null) {
    const [, ms] = /^duration_ms: (\d+(?:\.\d+)?)/.exec(content) ?? [];
    const [, file] = /^location: ['"]?([^'"]{1,1000}?):\d+:\d+['"]?$/.exec(content) ?? [];
    if (ms !== undefined) last.durationMs = Number(ms);
    else if (file !== undefined) last.file = file;
    else if (/^type: ['"]?suite['"]?$/.test(content)) last.isSuite = true;
    else last.message = extended(last.message, `${content}\n`);
  }
};

const readComment = (report: TapReport, content: string, indent: number): void => {
  const { groups } = report;
  if (content.startsWith('# Subtest')) report.hasSubtests = true;
  if (/^# (?:tests|pass)\s+\d+$/.test(content)) report.hasSummary = true;
  if (indent > 0 || summary.test(content) || groups.length > maxGroups) return;
  const [, directive, name] = /^#\s*(?:(SKIP|TODO)\s+)?(.*)$/s.exec(content) ?? [];
  if (name) groups.push({ name, directive: directiveOf(directive), points: [] });
};

const checkPlan = ({ plan, points }: Frame): void => {
  if (plan !== null && plan !== points.length)
    throw new ReportProblem(`is incomplete: ${plan} tests were planned, and ${points.length} are in it`);
};

/** What runners count in comments at the end. */
const summary =
  /^#\s{0,8}(?:tests|suites|pass|fail|ok|skip|skipped|todo|cancelled|time|duration_ms)\b[\s=]{0,8}\d{0,12}(?:\.\d{1,12})?\w{0,4}$/;

const directiveOf = (text: string | undefined): Point['directive'] =>
  text === undefined ? null : /^skip/i.test(text) ? 'skipped' : /^todo/i.test(text) ? 'todo' : null;

interface FoundPoint {
  readonly found: Omit<Point, 'group' | 'children'>;
  /** Its tests follow in braces. */
  readonly opens: boolean;
}

const pointIn = (content: string): FoundPoint | null => {
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
