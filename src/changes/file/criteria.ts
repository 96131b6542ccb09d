import { isObject, parseJson } from '../../text/shape.ts';
import { acceptanceCriteria } from '../scenarios/acceptance-lists.ts';
import type { Criterion } from '../scenarios/criterion.ts';
import { givenPart, slugOf } from '../scenarios/slug.ts';
import { criterionText } from '../scenarios/text-hash.ts';
import { isJson } from './json.ts';
import { fieldOf } from './markdown.ts';

/** The acceptance criteria of a task file, in any of its formats. */
export const fileCriteria = (text: string, path: string): Criterion[] =>
  isJson(text) ? jsonCriteria(text, path) : markdownCriteria(text, path);

/** Ids begin with that of the task, or with the name of the file. */
const nameOf = (path: string): string => slugOf(path.replace(/^.*\//, '').replace(/\.[^.]*$/, ''));

const markdownCriteria = (text: string, path: string): Criterion[] => {
  const task = fieldOf(text, 'id')?.replaceAll(/["']/g, '').trim();
  const name = task ? givenPart(task) : nameOf(path);
  return acceptanceCriteria(text).map(({ heading, level, id, number, title, text: own, line, verify }) => {
    const given = id ?? number;
    const last = given === null ? slugOf(title) : /^\d/.test(given) ? `ac-${given}` : givenPart(given);
    // The title of the file does not distinguish its criteria.
    const above = heading === null || level <= 1 || isGroup(heading) ? [] : [slugOf(heading)];
    return { parts: [name, ...above, last], title, requirement: heading, text: own, path, line, verify, names: [last] };
  });
};

/** A heading of BMAD that says nothing about the criteria. */
const isGroup = (heading: string): boolean => /^Tasks (?:&|and) Acceptance$/i.test(heading);

type Fields = Readonly<Record<string, unknown>>;

const jsonCriteria = (text: string, path: string): Criterion[] => {
  const value = parseJson(text.replace(/^\uFEFF/, ''));
  const name = nameOf(path);
  const lineOf = createLineSearch(text);
  const criterion = (above: string[], title: string, more: Partial<Criterion> = {}): Criterion => ({
    parts: [name, ...above, slugOf(title)],
    title,
    requirement: null,
    text: criterionText(title, []),
    path,
    line: lineOf(title),
    verify: [],
    names: [],
    ...more,
  });
  // A feature is a criterion, with the steps that show it.
  if (Array.isArray(value))
    return value.filter(isObject).flatMap(({ description, title, steps }: Fields) => {
      const shown = textOf(description) ?? textOf(title);
      const below = textsIn(steps).map((line) => ({ line, isCode: false }));
      return shown === null ? [] : [criterion([], shown, { text: criterionText(shown, below) })];
    });
  return entriesIn(value).flatMap((entry) => {
    const requirement = [entry.id, entry.title].flatMap((each) => textOf(each) ?? []).join(' ') || null;
    const id = textOf(entry.id) ?? textOf(entry.title);
    const criteria = entry.acceptanceCriteria ?? (isObject(entry.metadata) ? entry.metadata.acceptanceCriteria : []);
    return textsIn(criteria).map((each) => criterion(id === null ? [] : [givenPart(id)], each, { requirement }));
  });
};

/** The stories of a prd.json, or the tasks of all tags of Task Master. */
const entriesIn = (value: unknown): Fields[] => {
  if (!isObject(value)) return [];
  if (Array.isArray(value.userStories)) return value.userStories.filter(isObject);
  const groups = Array.isArray(value.tasks) ? [value] : Object.values(value).filter(isObject);
  return groups.flatMap(({ tasks }) => (Array.isArray(tasks) ? tasks.filter(isObject) : []));
};

const textOf = (value: unknown): string | null => {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '';
  return text.replaceAll(/\s+/g, ' ').trim() || null;
};

/** A list of texts, or one text with a line for each. */
const textsIn = (value: unknown): string[] => {
  const all = Array.isArray(value) ? value : typeof value === 'string' ? value.split('\n') : [];
  return all.flatMap(
    (each) => textOf(typeof each === 'string' ? each.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, '') : each) ?? [],
  );
};

/** Each takes as long as the file. */
const maxMisses = 100;

/** Finds the lines of texts in the order of the file. One that is written in another way has the line of the text before. */
const createLineSearch = (text: string) => {
  let at = 0;
  let line = 1;
  let misses = 0;
  return (wanted: string): number => {
    const found = misses > maxMisses ? -1 : text.indexOf(JSON.stringify(wanted).slice(1, -1), at);
    if (found === -1) misses++;
    if (found === -1) return line;
    for (let next = text.indexOf('\n', at); next !== -1 && next < found; next = text.indexOf('\n', next + 1)) line++;
    at = found;
    return line;
  };
};
