import { homedir } from 'node:os';
import { decidersOf } from '../guard/deciders/deciders.ts';
import { keyName, splitKey } from '../guard/deciders/parts.ts';
import { filesAt, hashesIn, type Hashes } from '../guard/goal.ts';
import type { Project } from '../store/project.ts';
import { scriptsIn } from './scripts.ts';

/** What a command would run of a project, as it is now. */
export const runningOf = ({ root }: Project, command: string): Hashes => {
  const files = filesAt(root);
  const scripts = scriptsIn(command, files, { project: root, home: homedir() });
  return hashesIn(root, new Set([...scripts.files, ...decidersOf([command], files)]));
};

/** What decides commands, as it is now. */
export const decidingIn = (root: string, commands: readonly string[]): Hashes =>
  hashesIn(root, decidersOf(commands, filesAt(root)));

/** The names of what is not as it was. */
export const changedIn = (root: string, before: Hashes): string[] =>
  changedRunning(before, hashesIn(root, Object.keys(before)));

/** The same, also of what was not there. */
export const changedRunning = (before: Hashes, now: Hashes): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((key) => (before[key] ?? null) !== (now[key] ?? null))
    .map((key) => (splitKey(key).part === null ? `./${key}` : keyName(key)));
