/** The result of one check. Only a `fail` keeps a loop from working. */
export interface Check {
  readonly about: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** The command or action that fixes it. */
  readonly fix: string | null;
}

export const ok = (about: string, message: string): Check => ({ about, status: 'ok', message, fix: null });

export const warn = (about: string, message: string, fix: string): Check => ({ about, status: 'warn', message, fix });

export const fail = (about: string, message: string, fix: string): Check => ({ about, status: 'fail', message, fix });
