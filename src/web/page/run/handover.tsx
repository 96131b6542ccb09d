import { Markdown } from '../parts/markdown.tsx';

/** What the agent of an iteration left for the next ones. */
export const Handover = ({ notes }: { readonly notes: string | null }) =>
  notes === null ? (
    <p class="empty">The iteration left no handover notes.</p>
  ) : (
    <div class="handover scroll" tabIndex={0} role="region" aria-label="Handover notes">
      <Markdown text={notes} />
    </div>
  );
