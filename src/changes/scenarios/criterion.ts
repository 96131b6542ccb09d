/** An acceptance criterion as a source writes it, before it has an id that is unique in its change. */
export interface Criterion {
  /** The parts of its id, such as capability, requirement and scenario. */
  readonly parts: readonly string[];
  readonly title: string;
  readonly requirement: string | null;
  /** Its words, with the title, without `**Verify**:` lines. */
  readonly text: string;
  /** Relative to the root, with `/`. */
  readonly path: string;
  readonly line: number;
  readonly verify: readonly string[];
  /** How a task can name it or its requirement, besides by its id. */
  readonly names: readonly string[];
}
