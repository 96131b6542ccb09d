import type { Problem } from '../state/client.ts';

export const Failure = ({ problem }: { readonly problem: Problem }) => (
  <p class="notice tone-bad" role="alert">
    {problem.message}
  </p>
);

export const Loading = ({ what = 'Loading' }: { readonly what?: string }) => (
  <p class="loading" role="status">
    {what}…
  </p>
);
