import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Overview as OverviewData, Row } from '../../api.ts';
import { announce } from '../parts/announce.tsx';
import { moveFocus, useKeys } from '../parts/keys.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { statusLook } from '../parts/status.tsx';
import { useTabState } from '../parts/tab-icon.ts';
import { type GroupName, groupNames, overviewHref, type OverviewRoute, replaceRoute } from '../route.ts';
import { useOverview } from '../state/overview.ts';
import { ActionOutcome } from '../steer/outcome.tsx';
import { groupsOf, shownStatus } from './groups.ts';
import { ChangeRow, ColumnTitles } from './row.tsx';

const titles: Record<GroupName, string> = {
  attention: 'Needs a person',
  running: 'Running',
  queued: 'Queued',
  finished: 'Finished',
  idle: 'Not run yet',
};

/** All changes with their last runs. */
export const Overview = ({ route }: { readonly route: OverviewRoute }) => {
  const { overview, problem } = useOverview();
  useTabTitle(overview);
  useStatusChanges(overview?.rows ?? []);
  if (problem !== null) return <Failure problem={problem} />;
  if (overview === null) return <Loading what="Loading the changes" />;
  return <Groups overview={overview} route={route} />;
};

const Groups = ({ overview, route }: { readonly overview: OverviewData; readonly route: OverviewRoute }) => {
  const { filter, group: chosen } = route;
  const choose = (next: Partial<OverviewRoute>) => replaceRoute(overviewHref({ ...route, ...next }));
  const input = useRef<HTMLInputElement>(null);
  useKeptFocus();
  useKeys({
    j: () => moveFocus('.change-link', 1),
    k: () => moveFocus('.change-link', -1),
    '/': () => input.current?.focus(),
    Escape: () => {
      choose({ filter: '', group: null });
      input.current?.blur();
    },
  });
  const groups = groupsOf(overview.rows.filter((row) => matches(row, filter)));
  const shown = groupNames.filter((name) => (chosen === null || chosen === name) && groups[name].length > 0);
  return (
    <div class="overview">
      <h1 class="visually-hidden">Changes of {overview.project.name}</h1>
      <Filters route={route} groups={groups} input={input} choose={choose} />
      <ActionOutcome />
      {overview.warnings.map((warning) => (
        <p key={warning} class="notice tone-warn">
          {warning}
        </p>
      ))}
      {shown.length > 0 && <ColumnTitles />}
      {shown.map((name) => (
        <Group key={name} name={name} rows={groups[name]} readOnly={overview.readOnly} />
      ))}
      {shown.length === 0 && <Nothing isFiltered={filter !== '' || chosen !== null} />}
    </div>
  );
};

interface FiltersProps {
  readonly route: OverviewRoute;
  readonly groups: ReturnType<typeof groupsOf>;
  readonly input: RefObject<HTMLInputElement | null>;
  readonly choose: (next: Partial<OverviewRoute>) => void;
}

const Filters = ({ route: { filter, group: chosen }, groups, input, choose }: FiltersProps) => (
  <div class="filters" role="search">
    <input
      ref={input}
      type="search"
      placeholder="Filter changes"
      aria-label="Filter changes"
      aria-keyshortcuts="/"
      value={filter}
      onInput={({ currentTarget }) => choose({ filter: currentTarget.value })}
    />
    <div class="chips" role="group" aria-label="State">
      {groupNames
        .filter((name) => groups[name].length > 0 || name === chosen)
        .map((name) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={chosen === name}
            onClick={() => choose({ group: chosen === name ? null : name })}
          >
            {titles[name]} <span class="count">{groups[name].length}</span>
          </button>
        ))}
    </div>
  </div>
);

const Group = ({
  name,
  rows,
  readOnly,
}: {
  readonly name: GroupName;
  readonly rows: readonly Row[];
  readonly readOnly: boolean;
}) => (
  <section aria-labelledby={`group-${name}`} class={`group group-${name}`}>
    <h2 id={`group-${name}`}>
      {titles[name]} <span class="count">{rows.length}</span>
    </h2>
    <ul class="rows">
      {rows.map((row) => (
        <ChangeRow key={row.change} row={row} readOnly={readOnly} />
      ))}
    </ul>
  </section>
);

/** A change keeps the focus when it moves to another group. */
const useKeptFocus = (): void => {
  const focused = document.activeElement?.classList.contains('change-link') ? document.activeElement.id : null;
  useLayoutEffect(() => {
    if (focused !== null && document.activeElement === document.body)
      document.getElementById(focused)?.focus({ preventScroll: true });
  });
};

const Nothing = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <p class="empty">No change matches. Esc clears the filter.</p>
  ) : (
    <div class="empty">
      <p>There is no change yet.</p>
      <p>
        Describe one with <code>spool create change &lt;name&gt;</code>, or start right away with{' '}
        <code>spool ralph "&lt;what to do&gt;"</code>.
      </p>
    </div>
  );

const matches = (row: Row, filter: string): boolean => {
  const text = [
    row.change,
    row.module,
    row.branch,
    row.remote?.host,
    row.remote?.worker,
    statusLook(shownStatus(row)).word,
  ]
    .join(' ')
    .toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
};

const useTabTitle = (overview: OverviewData | null): void => {
  const groups = groupsOf(overview?.rows ?? []);
  const [waiting, running] = [groups.attention.length, groups.running.length];
  const counts = [waiting === 0 ? '' : `${waiting} need a person`, running === 0 ? '' : `${running} running`];
  useTabState(
    [...counts.filter(Boolean), overview?.project.name ?? '', 'Spool'].filter(Boolean).join(' · '),
    waiting > 0 ? 'warn' : running > 0 ? 'live' : 'quiet',
  );
};

/** Says what has changed since the last overview. */
const useStatusChanges = (rows: readonly Row[]): void => {
  const last = useRef(new Map<string, string>());
  useEffect(() => {
    const now = new Map(rows.map((row) => [row.change, statusLook(shownStatus(row)).word]));
    const changed = [...now].filter(([change, word]) => last.current.has(change) && last.current.get(change) !== word);
    last.current = now;
    if (changed.length > 0) announce(changed.map(([change, word]) => `${change}: ${word}`).join('. '));
  }, [rows]);
};
