import type { IterationSummary } from '../../api.ts';
import { duration } from '../../../text/duration.ts';
import { Cost, Lines } from '../parts/figures.tsx';
import { RunningIcon } from '../parts/icons.tsx';
import { useKeys } from '../parts/keys.tsx';
import { outcomeLook } from '../parts/status.tsx';
import { WindowList } from '../parts/window-list.tsx';
import { goTo, iterationHref, iterationTabs, runHref, type RunRoute } from '../route.ts';
import type { RunState } from '../state/run.ts';
import { Iteration } from './iteration.tsx';

const rowHeight = 58;

/** The timeline, latest first, and beside it one iteration. */
export const Iterations = ({ route, state }: { readonly route: RunRoute; readonly state: RunState }) => {
  const { detail, iterations } = state;
  const finished = iterations.toReversed();
  const last = finished[0]?.iteration ?? 0;
  const current =
    detail.view !== null && detail.status === 'running' && detail.view.iteration > last ? detail.view.iteration : null;
  const numbers = [...(current === null ? [] : [current]), ...finished.map(({ iteration }) => iteration)];
  const latest = numbers[0] ?? null;
  const selected = route.iteration ?? latest;
  const index = selected === null ? -1 : numbers.indexOf(selected);

  const select = (step: 1 | -1) => {
    const next = numbers[Math.min(numbers.length - 1, Math.max(0, index + step))];
    if (next !== undefined) goTo(iterationHref(route, next, route.iterationTab));
  };
  useKeys({
    j: () => select(1),
    k: () => select(-1),
    l: () => goTo(runHref(route)),
    ...Object.fromEntries(
      iterationTabs.map((tab, at) => [
        String(at + 1),
        () => goTo(iterationHref(route, route.iteration ?? latest, tab)),
      ]),
    ),
  });

  const longest = Math.max(1, ...iterations.map(({ durationMs }) => durationMs));
  return (
    <div class={`iterations ${route.iteration === null ? '' : 'has-selection'}`}>
      <section class="timeline" aria-label="Timeline">
        <WindowList
          count={numbers.length}
          rowHeight={rowHeight}
          label="Iterations, latest first"
          keyOf={(at) => numbers[at]!}
          show={index === -1 ? null : index}
        >
          {(at) => {
            const number = numbers[at]!;
            const one = finished[current === null ? at : at - 1];
            const href = iterationHref(route, number, route.iterationTab);
            const isSelected = number === selected;
            return number === current || one === undefined ? (
              <CurrentRow number={number} href={href} isSelected={isSelected} />
            ) : (
              <IterationRow one={one} longest={longest} href={href} isSelected={isSelected} />
            );
          }}
        </WindowList>
        {numbers.length === 0 && <p class="empty">No iteration yet.</p>}
      </section>
      {selected !== null && (
        <Iteration
          key={selected}
          route={route}
          state={state}
          number={selected}
          isCurrent={selected === current}
          latest={latest ?? selected}
        />
      )}
    </div>
  );
};

const CurrentRow = ({
  number,
  href,
  isSelected,
}: {
  readonly number: number;
  readonly href: string;
  readonly isSelected: boolean;
}) => (
  <a class="iteration-row tone-live" href={href} aria-current={isSelected ? 'true' : undefined}>
    <RunningIcon />
    <span class="iteration-number number">#{number}</span>
    <span class="iteration-word">Running</span>
  </a>
);

const IterationRow = ({
  one,
  longest,
  href,
  isSelected,
}: {
  readonly one: IterationSummary;
  readonly longest: number;
  readonly href: string;
  readonly isSelected: boolean;
}) => {
  const { word, tone, Icon } = outcomeLook(one.outcome);
  const reason = one.rejected ?? one.error?.message ?? one.blocked ?? one.denied;
  return (
    <a class={`iteration-row tone-${tone}`} href={href} aria-current={isSelected ? 'true' : undefined}>
      <Icon />
      <span class="iteration-number number">#{one.iteration}</span>
      <span class="iteration-word">{word}</span>
      <span class="iteration-time number">
        {duration(one.durationMs)}
        <span class="time-bar" aria-hidden="true">
          <span style={{ width: `${(100 * one.durationMs) / longest}%` }} />
        </span>
      </span>
      <span class="iteration-about">{one.ticked.length > 0 ? <Ticked titles={one.ticked} /> : (reason ?? '')}</span>
      <span class="iteration-figures">
        {one.filesChanged !== null && one.filesChanged > 0 && (
          <>
            <span class="quiet number">
              {one.filesChanged} {one.filesChanged === 1 ? 'file' : 'files'}
            </span>{' '}
            <Lines insertions={one.insertions ?? 0} deletions={one.deletions ?? 0} />
          </>
        )}{' '}
        {one.usage?.costUsd != null && (
          <span class="number">
            <Cost usage={one.usage} />
          </span>
        )}
      </span>
    </a>
  );
};

const Ticked = ({ titles }: { readonly titles: readonly string[] }) => (
  <span class="ticked">
    <span aria-hidden="true">✓ </span>
    <span class="visually-hidden">Done: </span>
    {titles.join(', ')}
  </span>
);
