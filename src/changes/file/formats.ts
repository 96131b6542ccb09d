import type { TaskFormat } from '../tasks/format.ts';
import { backlogTask, isBacklogTask } from './backlog.ts';
import { bmadSpec, bmadStory, isBmadSpec, isBmadStory } from './bmad.ts';
import { isJson, jsonFormat } from './json.ts';
import { markdownFormat } from './markdown.ts';
import { isRalphex, ralphexPlan } from './ralphex.ts';

/** A Markdown file with boxes, such as TODO.md, or with prose alone. */
const plainMarkdown = markdownFormat({ name: 'Markdown tasks' });

const markdownFormats: readonly (readonly [isOne: (text: string) => boolean, format: TaskFormat])[] = [
  [isBmadSpec, bmadSpec],
  [isBmadStory, bmadStory],
  [isBacklogTask, backlogTask],
  [isRalphex, ralphexPlan],
];

/** Recognises the format of a task file from its text. */
export const formatOf = (text: string, path: string): TaskFormat => {
  if (/\.json$/i.test(path) || isJson(text)) return jsonFormat(text, path);
  return markdownFormats.find(([isOne]) => isOne(text))?.[1] ?? plainMarkdown;
};
