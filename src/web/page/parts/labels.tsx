import type { Row } from '../../api.ts';
import { pluralise } from '../../../text/duration.ts';

/** What is special about a change: where it is from, where it went, and its branch. */
export const ChangeLabels = ({ row }: { readonly row: Row }) => (
  <>
    {row.source !== null && row.source !== 'spool' && <span class="label">{row.source}</span>}
    {row.archived && <span class="label">archived</span>}
    {row.deleted && <span class="label tone-warn">deleted</span>}
    {row.landed === true && <span class="label tone-ok">landed</span>}
    {row.leftovers > 0 && <span class="label tone-bad">{pluralise(row.leftovers, 'process', 'processes')} left</span>}
    {row.branch !== null && (
      <code class="branch">
        <bdi>{row.branch}</bdi>
      </code>
    )}
  </>
);
