import type { TaskFormat } from '../task-format.ts';
import { markdownTasks } from '../task-format.ts';
import { withoutTasks } from '../tasks.ts';
import { wordingOf } from '../wording.ts';

/** A Markdown file with boxes, such as TODO.md, or with prose alone. */
const plainMarkdown: TaskFormat = { ...markdownTasks, wording: (text) => wordingOf(withoutTasks(text)) };

/** Recognises the format of a task file from its text. */
export const formatOf = (_text: string): TaskFormat => plainMarkdown;
