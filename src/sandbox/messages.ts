/** Messages between Spool and the process that hosts the sandbox runtime. */

export interface WrapRequest {
  /** The command line for a shell in the sandbox. */
  readonly line: string;
  /** A short name of the command. */
  readonly id: string;
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
}

export type ToHost =
  | {
      readonly do: 'start';
      /** The file of the runtime to import. */
      readonly library: string;
      readonly tools: Readonly<Record<string, string>>;
      readonly hosts: readonly string[];
      /** Deleted when Spool has exited. */
      readonly base: string;
    }
  | ({ readonly do: 'wrap'; readonly number: number } & WrapRequest)
  | { readonly do: 'clean-up' };

export type FromHost =
  | { readonly did: 'start'; readonly problem: string | null }
  | { readonly did: 'wrap'; readonly number: number; readonly command: string | null; readonly problem: string | null };
