export type DocumentKind = 'proposal' | 'spec' | 'tasks' | 'design' | 'module';

/** A file that defines what a change must achieve. */
export interface ChangeDocument {
  readonly kind: DocumentKind;
  /** Relative to the root. */
  readonly path: string;
  /** A short name: that of a spec is relative to the folder of the specs, such as `login/spec.md`. */
  readonly name: string;
}

export interface ChangeFile {
  readonly kind: DocumentKind | 'other';
  /** Relative to the folder of the change. */
  readonly name: string;
}

/** Where the specs of a change are, and the main specs that they are merged into. All paths are relative to a root. */
export interface SpecPaths {
  /** The folder with the specs of the change: `<capability>/spec.md`. */
  readonly delta: string;
  /** The folder with the main specs, in the same form. */
  readonly main: string;
  /** The YAML file in which a change may set `skip_specs` and `retire_capabilities`. */
  readonly settings: string;
  /** Whether a change without specs is invalid. */
  readonly isRequired: boolean;
}

/**
 * A change, independent of where it is read: all paths are relative to a root, which is the project or the project's
 * folder in a worktree. None of its files has to exist.
 */
export interface Change {
  readonly id: string;
  /** The name of its source. */
  readonly source: string;
  /** The id of its module. */
  readonly module: string | null;
  readonly folder: string;
  /** The task as the agent gets it, and the first file that a user edits. */
  readonly proposalFile: string;
  readonly tasksFile: string;
  /** Missing if the source has no specs that can be merged. */
  readonly specs?: SpecPaths;
  /** Whether a proposal is still the empty template of the source. */
  isTemplate(proposal: string): boolean;
  /** What the guard watches. Files with a fixed name are listed whether or not they exist. */
  documents(root: string): ChangeDocument[];
  /** Existing files besides the proposal, in the order in which an agent should read them: specs first. */
  files(root: string): ChangeFile[];
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
  /** Folders, relative to a root, whose files plan work and are not work themselves. */
  readonly planningFolders: readonly string[];
  /** The folder with the main specs, relative to a root, if it has any. */
  readonly specsFolder?: string;
  /** The ids of active changes, sorted. */
  list(root: string): Promise<string[]>;
  listArchived(root: string): Promise<string[]>;
  /** An archived change, with the paths that it has now; null if there is none with this id. The latest one wins. */
  archived(root: string, id: string): Promise<Change | null>;
  has(root: string, id: string): boolean;
  /** Only for ids that `list` has returned: a made-up one could lead out of the folder. */
  change(id: string): Change;
  /** Whether a path, relative to a root, is the task file of any of its changes. */
  isTasksFile(path: string): boolean;
  /** Where a change is moved to when it is archived today, relative to the root. */
  archivePath(change: Change): string;
}
