/** What Spool and the process that holds the sandbox runtime say to each other. */

export interface WrapRequest {
  /** What a shell inside runs. */
  readonly line: string;
  /** A short name for it. */
  readonly id: string;
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
}

export type ToKeeper =
  | {
      readonly do: 'start';
      /** The file of the runtime. */
      readonly library: string;
      readonly tools: Readonly<Record<string, string>>;
      readonly hosts: readonly string[];
      /** Deleted when Spool is gone. */
      readonly base: string;
    }
  | ({ readonly do: 'wrap'; readonly number: number } & WrapRequest)
  | { readonly do: 'clean-up' };

export type FromKeeper =
  | { readonly did: 'start'; readonly problem: string | null }
  | { readonly did: 'wrap'; readonly number: number; readonly command: string | null; readonly problem: string | null };
