import type { Action, ActionPreview, ActionRequest, ActionResult, ApiError, PreviewRequest } from '../../api.ts';

/** What the server refused, in its own words, or why it could not be reached. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

export type Answer<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly problem: Problem };

const unreachable: Problem = { code: 'unreachable', message: 'The server does not answer.' };

export const get = <Value>(path: string, signal?: AbortSignal): Promise<Answer<Value>> =>
  request<Value>(path, { ...(signal && { signal }) });

const post = <Value>(
  path: string,
  body: PreviewRequest | ActionRequest,
  signal?: AbortSignal,
): Promise<Answer<Value>> =>
  request<Value>(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Spool': '1' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

const request = async <Value>(path: string, init: RequestInit): Promise<Answer<Value>> => {
  try {
    const response = await fetch(`/api${path}`, { ...init, credentials: 'same-origin', redirect: 'error' });
    const body: unknown = await response.json();
    if (response.ok) return { ok: true, value: body as Value };
    return {
      ok: false,
      problem: (body as ApiError).error ?? { code: String(response.status), message: response.statusText },
    };
  } catch {
    return { ok: false, problem: unreachable };
  }
};

/** Aborting it ends the dry run on the server as well. */
export const previewAction = (action: Action, signal: AbortSignal): Promise<Answer<ActionPreview>> =>
  post<ActionPreview>('/preview', { action }, signal);

export const act = (action: Action, token: string | null = null): Promise<Answer<ActionResult>> =>
  post<ActionResult>('/actions', { action, ...(token !== null && { token }) });

export const runPath = (change: string, run: string): string =>
  `/changes/${encodeURIComponent(change)}/runs/${encodeURIComponent(run)}`;
