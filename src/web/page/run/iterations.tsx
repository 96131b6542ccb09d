import type { IterationSummary } from '../../api.ts';
import { duration, pluralise } from '../../../text/duration.ts';
import { Cost, Lines } from '../parts/figures.tsx';
import { useKeys } from '../parts/keys.tsx';
import { Loading } from '../parts/notice.tsx';
import { outcomeLook, statusLook, type ShownStatus } from '../parts/status.tsx';
import { WindowList } from '../parts/window-list.tsx';
import { goTo, iterationHref, iterationTabs, runHref, type RunRoute } from '../route.ts';
import type { RunState } from '../state/run-state.ts';
import { Iteration } from './iteration.tsx';
import { shownRunStatus } from './shown-status.ts';
import { unfinishedOf } from './unfinished.ts';

const rowHeight = 58;

/** The timeline, latest first, and beside it one iteration. */
export const Iterations = ({ route, state }: { readonly route: RunRoute; readonly state: RunState }) => {
  const { iterations, isLoading } = state;
  const unfinished = unfinishedOf(state);
  const finished = iterations.toReversed();
  const numbers = [...(unfinished === null ? [] : [unfinished.number]), ...finished.map(({ iteration }) => iteration)];
  const latest = numbers[0] ?? null;
  const selected = route.iteration ?? latest;
  const index = selected === null ? -1 : numbers.indexOf(selected);
  useIterationKeys(route, numbers, index);

  if (isLoading && numbers.length === 0) return <Loading what="Loading the iterations" />;
  if (latest === null) return <p class="empty">No iteration yet.</p>;
  const longest = iterations.reduce((most, { durationMs }) => Math.max(most, durationMs), 1);
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
            const one = finished[unfinished === null ? at : at - 1];
            const link = {
              href: iterationHref(route, number, route.iterationTab),
              isSelected: number === selected,
            };
            return number === unfinished?.number || one === undefined ? (
              <UnfinishedRow {...link} number={number} status={shownRunStatus(state.detail)} />
            ) : (
              <IterationRow {...link} one={one} longest={longest} />
            );
          }}
        </WindowList>
      </section>
      {selected !== null && (index !== -1 || isLoading) ? (
        <Iteration
          key={selected}
          route={route}
          state={state}
          number={selected}
          unfinished={selected === unfinished?.number ? unfinished : null}
          latest={latest}
        />
      ) : (
        <p class="empty">
          This run has no iteration {selected}. <a href={runHref(route)}>Show the latest one</a>
        </p>
      )}
    </div>
  );
};

const useIterationKeys = (route: RunRoute, numbers: readonly number[], index: number): void => {
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
        () => goTo(iterationHref(route, route.iteration ?? numbers[0] ?? null, tab)),
      ]),
    ),
  });
};

interface RowLink {
  readonly href: string;
  readonly isSelected: boolean;
}

const UnfinishedRow = ({
  number,
  status,
  href,
  isSelected,
}: RowLink & { readonly number: number; readonly status: ShownStatus }) => {
  const { word, tone, Icon } = statusLook(status);
  return (
    <a class={`iteration-row tone-${tone}`} href={href} aria-current={isSelected ? 'true' : undefined}>
      <Icon />
      <span class="iteration-number number">#{number}</span>
      <span class="iteration-word">{word}</span>
    </a>
  );
};

const IterationRow = ({
  one,
  longest,
  href,
  isSelected,
}: RowLink & { readonly one: IterationSummary; readonly longest: number }) => {
  const { word, tone, Icon } = outcomeLook(one.outcome);
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
      <About one={one} />
      <span class="iteration-figures">
        {one.filesChanged !== null && one.filesChanged > 0 && (
          <>
            <span class="quiet number">{pluralise(one.filesChanged, 'file')}</span>{' '}
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

/** The tasks that it completed, and what went wrong. */
const About = ({ one }: { readonly one: IterationSummary }) => {
  const reason = one.rejected ?? one.error?.message ?? one.blocked ?? one.denied;
  const titles = one.ticked.join(', ');
  return (
    <span class="iteration-about" title={[titles, reason].filter(Boolean).join('\n')}>
      {titles !== '' && (
        <span class="ticked">
          <span aria-hidden="true">✓ </span>
          <span class="visually-hidden">Tasks done: </span>
          {reason === null ? titles : one.ticked.length}
        </span>
      )}
      {titles !== '' && reason !== null && ' · '}
      {reason !== null && <span class="reason">{reason}</span>}
    </span>
  );
};
