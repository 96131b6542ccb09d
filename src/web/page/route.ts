import { useEffect, useState } from 'preact/hooks';

export const iterationTabs = ['conversation', 'diff', 'gate', 'prompt', 'log', 'handover'] as const;
export type IterationTab = (typeof iterationTabs)[number];

const runTabs = ['iterations', 'proof', 'charts', 'changes', 'plan'] as const;
export type RunTab = (typeof runTabs)[number];

export const groupNames = ['attention', 'running', 'queued', 'finished', 'idle'] as const;
/** A part of the overview. */
export type GroupName = (typeof groupNames)[number];

/** What the page shows, as its address has it after the `#`. */
export type Route =
  | {
      readonly view: 'overview';
      /** Words that a change must have; empty for all. */
      readonly filter: string;
      /** null: all groups. */
      readonly group: GroupName | null;
    }
  | {
      readonly view: 'run';
      readonly change: string;
      /** `latest`, or the id of a run. */
      readonly run: string;
      readonly tab: RunTab;
      /** null: the latest one. */
      readonly iteration: number | null;
      readonly iterationTab: IterationTab;
    };

export type OverviewRoute = Extract<Route, { view: 'overview' }>;
export type RunRoute = Extract<Route, { view: 'run' }>;

/** `#/change/001-01_add/latest/7/diff`, `#/?filter=add&state=running` */
export const parseRoute = (hash: string): Route => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [kind, change, run = 'latest', third = 'iterations', fourth = 'conversation'] = path.split('/').map(decode);
  if (kind !== 'change' || !change) return parseOverview(new URLSearchParams(query));
  const number = /^\d{1,9}$/.test(third) ? Number(third) : null;
  const tab = number === null ? (runTabs.find((name) => name === third) ?? 'iterations') : 'iterations';
  const iterationTab = iterationTabs.find((name) => name === fourth) ?? 'conversation';
  return { view: 'run', change, run, tab, iteration: number, iterationTab };
};

const parseOverview = (query: URLSearchParams): OverviewRoute => ({
  view: 'overview',
  filter: query.get('filter') ?? '',
  group: groupNames.find((name) => name === query.get('state')) ?? null,
});

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

type RunPlace = { readonly change: string; readonly run?: string };

export const overviewHref = ({ filter, group }: Pick<OverviewRoute, 'filter' | 'group'>): string => {
  const query = new URLSearchParams({ ...(filter !== '' && { filter }), ...(group !== null && { state: group }) });
  return query.size === 0 ? '#/' : `#/?${query}`;
};

/** The overview as it was left, with its filter. */
export const backHref = (): string => lastOverview;
let lastOverview = '#/';

export const runHref = ({ change, run = 'latest' }: RunPlace, tab: RunTab = 'iterations'): string =>
  `#/change/${encodeURIComponent(change)}/${encodeURIComponent(run)}${tab === 'iterations' ? '' : `/${tab}`}`;

/** `iteration` null: whichever is the latest. */
export const iterationHref = (
  { change, run = 'latest' }: RunPlace,
  iteration: number | null,
  tab: IterationTab = 'conversation',
): string => {
  const base = runHref({ change, run });
  if (iteration === null) return tab === 'conversation' ? base : `${base}/iterations/${tab}`;
  return `${base}/${iteration}/${tab}`;
};

/** The same part of another run, or of the same run by its own name. */
export const sameViewHref = ({ tab, iteration, iterationTab }: RunRoute, place: RunPlace): string =>
  tab === 'iterations' ? iterationHref(place, iteration, iterationTab) : runHref(place, tab);

export const goTo = (href: string): void => {
  location.hash = href;
};

/** Changes the address without a step in the history of the browser. */
export const replaceRoute = (href: string): void => {
  history.replaceState(history.state, '', href);
  dispatchEvent(new HashChangeEvent('hashchange'));
};

export const useRoute = (): Route => {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    // It may have changed before the page listened.
    changed();
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  const route = parseRoute(hash);
  if (route.view === 'overview') lastOverview = overviewHref(route);
  return route;
};
