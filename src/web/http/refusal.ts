/** Why a request is not answered, as the client sees it. */
export interface Refusal {
  readonly status: number;
  /** For programs, in `ApiError`. */
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by a route instead of an answer. */
export class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export const notFound = (message = 'There is no such page.'): Refused =>
  new Refused({ status: 404, code: 'not-found', message });

export const badRequest = (message: string): Refused => new Refused({ status: 400, code: 'bad-request', message });
