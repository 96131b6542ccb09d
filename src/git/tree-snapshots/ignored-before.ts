import { type ByteEntry, byteEntries } from '../../files/bytes.ts';
import { listOf, object, required, text } from '../../text/shape.ts';
import { git, type GitArguments } from '../call/git.ts';
import { pathOf } from '../paths.ts';
import { createRulesReader } from './outside-rules.ts';
import type { WorkTree } from '../work-tree.ts';

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
  save(beforeWriting: () => void): Promise<void>;
}

interface SavedIgnored {
  readonly rules: string;
  /** Names as git printed them. */
  readonly files: readonly string[];
}

/** Stores the data for a resumed run. */
interface IgnoredList {
  read(name: 'ignored.json'): unknown;
  write(name: 'ignored.json', data: unknown): void;
}

export const openIgnoredBefore = (tree: WorkTree, fileLists: IgnoredList): IgnoredBefore => {
  const readRules = createRulesReader(tree);
  let saved = shape(fileLists.read('ignored.json')) ?? null;
  let files = new Set(saved?.files);
  let now = '';
  return {
    rules: () => saved?.rules ?? null,
    readRules: async () => (now = await readRules()),
    has: (name) => files.has(name),
    async save(beforeWriting) {
      if (saved?.rules === now) return;
      saved = { rules: now, files: saved?.files ?? (await listIgnored(tree)) };
      files = new Set(saved.files);
      beforeWriting();
      fileLists.write('ignored.json', saved);
    },
  };
};

const shape = object<SavedIgnored>({ rules: required(text), files: required(listOf(text)) });

/** Larger folders are not listed. */
const maxInFolder = 1000;
const maxFiles = 20_000;

const listIgnored = async ({ root }: WorkTree): Promise<string[]> => {
  const args: GitArguments = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'];
  const names = (await git(args, { cwd: root })).stdout.split('\0').filter(Boolean);
  const files: string[] = [];
  for (const name of names.filter((each) => !each.startsWith('.spool/'))) {
    if (files.length >= maxFiles) break;
    files.push(...(name.endsWith('/') ? filesBelow(root, name) : [name]));
  }
  return files.slice(0, maxFiles);
};

const filesBelow = (root: string, folder: string): string[] => {
  const files: string[] = [];
  const open = [folder];
  let seen = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const { kind, name } of entriesOf(root, at)) {
      if (++seen > maxInFolder) return [];
      if (kind === 'folder') open.push(`${at}${name}/`);
      else files.push(`${at}${name}`);
    }
  }
  return files;
};

/** Returns an empty list for an unreadable folder, of which git can add nothing either. */
const entriesOf = (root: string, folder: string): ByteEntry[] => {
  try {
    return byteEntries(pathOf(root, folder).toString('latin1'));
  } catch {
    return [];
  }
};
