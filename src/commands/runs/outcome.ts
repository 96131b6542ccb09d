/** What became of a request. */
export interface Outcome {
  /** What will happen, for the user. */
  readonly text: string;
  /** The same without the change. */
  readonly effect: string;
  readonly json: unknown;
}
