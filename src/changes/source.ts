import type { TaskFormat } from './tasks/format.ts';

/** `context` is what the project says about all changes; a `checklist` is ticked by reviewers only; archiving writes a `main-spec`. */
export type DocumentKind = 'proposal' | 'spec' | 'tasks' | 'design' | 'module' | 'context' | 'checklist' | 'main-spec';

/** A file that defines what a change must achieve. */
export interface ChangeDocument {
  readonly kind: DocumentKind;
  /** Relative to the root. */
  readonly path: string;
  /** A short name: that of a spec is relative to the folder of the specs, such as `login/spec.md`. */
  readonly name: string;
  /** An agent must not create it: what comes after the run would use it. */
  readonly isClosed?: boolean;
}

export interface ChangeFile {
  readonly kind: DocumentKind | 'other';
  /** Relative to the folder of the change. */
  readonly name: string;
}

/** A file whose text is part of the prompt. */
export interface PromptSection {
  readonly title: string;
  /** Relative to the root. */
  readonly path: string;
  /** The part of the file that the agent gets; null for none of it. The whole file if this is missing. */
  readonly excerpt?: (text: string) => string | null;
}

/** Where the specs of a change are, and the main specs that they are merged into. All paths are relative to a root. */
export interface SpecPaths {
  /** The folder with the specs of the change: `<capability>/spec.md`. */
  readonly delta: string;
  /** The folder with the main specs, in the same form. */
  readonly main: string;
  /** The YAML file in which a change may set `skip_specs` and `retire_capabilities`. */
  readonly settings: string;
  /** Whether the settings count only if they name a schema. */
  readonly needsSchema: boolean;
  /** Whether a change without specs is invalid. */
  readonly isRequired: boolean;
}

/**
 * A change, independent of where it is read: all paths are relative to a root, which is the project or the project's
 * folder in a worktree. None of its files has to exist.
 */
export interface Change {
  readonly id: string;
  /** The name of its source, or `file:` and the path of its only file. */
  readonly source: string;
  /** The id of its module. */
  readonly module: string | null;
  /** Where its files are, or its only file. */
  readonly folder: string;
  /** The task as the agent gets it, and the first file that a user edits. */
  readonly proposalFile: string;
  /** The same as `proposalFile` for a change that is one file. */
  readonly tasksFile: string;
  readonly format: TaskFormat;
  /** Commands in its files that verify it. The project provides them, so they must not be run without trust. */
  readonly verify: readonly string[];
  /** Missing if the source has no specs that can be merged. */
  readonly specs?: SpecPaths;
  /** Where finished changes are moved to, relative to a root; null if they stay where they are. */
  readonly archiveFolder: string | null;
  /** Folders, relative to a root, whose files plan work and are not work themselves. */
  readonly planningFolders: readonly string[];
  /** Whether no byte of a file may change, not even a tick. The path is relative to a root. */
  isExact(path: string): boolean;
  /** Whether a proposal is still the empty template of the source. */
  isTemplate(proposal: string): boolean;
  /** What the guard watches. Files with a fixed name are listed whether or not they exist. */
  documents(root: string): ChangeDocument[];
  /** Existing files besides the proposal that the prompt names, in the order in which an agent should read them. */
  files(root: string): ChangeFile[];
  /** What the prompt contains besides the proposal and the module, in this order. */
  sections(root: string): PromptSection[];
  /** What a person should decide before an agent starts: a sentence each. */
  warnings(root: string): string[];
  /** Files and folders that a worktree gets a copy of. */
  planningPaths(root: string): string[];
}

/** A change that does not exist yet. */
export interface NewChange {
  readonly id: string;
  readonly proposal: string;
  /** null for a change without a task file. */
  readonly tasks: string | null;
}

/** A place where changes are written down. */
export interface ChangeSource {
  readonly name: string;
  /** Where its changes are, relative to a root. */
  readonly folder: string;
  /** The folder with the main specs, relative to a root, if it has any. */
  readonly specsFolder?: string;
  /** The ids of active changes, sorted. */
  list(root: string): string[];
  listArchived(root: string): string[];
  /** An archived change, with the paths that it has now; null if there is none with this id. The latest one wins. */
  archived(root: string, id: string): Change | null;
  /** Only for ids that `list` has returned: a made-up one could lead out of the folder. */
  change(root: string, id: string): Change;
}
