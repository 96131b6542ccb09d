import { readdirSync } from 'node:fs';
import { listOf, object, required, text } from '../text/shape.ts';
import { git, type GitArguments, pathOf } from './git.ts';
import { createRulesReader } from './outside-rules.ts';
import type { WorkTree } from './worktree.ts';

/**
 * The files that were ignored before the agents of a run started, and the rules outside of the trees. Saved with the
 * run.
 */
export interface IgnoredBefore {
  /** The rules when they were last saved; null if unknown. */
  rules(): string | null;
  readRules(): Promise<string>;
  /** Returns true if the file existed and was ignored when the run started. */
  has(name: string): boolean;
  /**
   * Saves the rules that were read last and, the first time, the ignored files. Calls `beforeWriting` if there is
   * something to write.
   */
  keep(beforeWriting: () => void): Promise<void>;
}

interface Kept {
  readonly rules: string;
  /** Names as git printed them. */
  readonly files: readonly string[];
}

/** Stores the data for a resumed run. */
interface IgnoredNotes {
  read(name: 'ignored.json'): unknown;
  write(name: 'ignored.json', data: unknown): void;
}

export const openIgnoredBefore = (tree: WorkTree, notes: IgnoredNotes): IgnoredBefore => {
  const readRules = createRulesReader(tree);
  let kept = shape(notes.read('ignored.json')) ?? null;
  let files = new Set(kept?.files);
  let now = '';
  return {
    rules: () => kept?.rules ?? null,
    readRules: async () => (now = await readRules()),
    has: (name) => files.has(name),
    async keep(beforeWriting) {
      if (kept?.rules === now) return;
      kept = { rules: now, files: kept?.files ?? (await listIgnored(tree)) };
      files = new Set(kept.files);
      beforeWriting();
      notes.write('ignored.json', kept);
    },
  };
};

const shape = object<Kept>({ rules: required(text), files: required(listOf(text)) });

/** Larger folders are not listed. */
const mostInFolder = 1000;
const mostFiles = 20_000;

const listIgnored = async ({ root }: WorkTree): Promise<string[]> => {
  const args: GitArguments = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'];
  const names = (await git(args, { cwd: root })).stdout.split('\0').filter(Boolean);
  const files: string[] = [];
  for (const name of names.filter((each) => !each.startsWith('.spool/'))) {
    if (files.length >= mostFiles) break;
    files.push(...(name.endsWith('/') ? filesBelow(root, name) : [name]));
  }
  return files.slice(0, mostFiles);
};

const filesBelow = (root: string, folder: string): string[] => {
  const files: string[] = [];
  const open = [folder];
  let seen = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of entriesOf(root, at)) {
      if (++seen > mostInFolder) return [];
      if (entry.isDirectory()) open.push(`${at}${entry.name}/`);
      else files.push(`${at}${entry.name}`);
    }
  }
  return files;
};

const entriesOf = (root: string, folder: string) => {
  try {
    return readdirSync(pathOf(root, folder), { withFileTypes: true, encoding: 'latin1' });
  } catch {
    return [];
  }
};
