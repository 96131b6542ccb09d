import { useEffect, useState } from 'preact/hooks';

export const iterationTabs = ['conversation', 'diff', 'gate', 'prompt', 'log'] as const;
export type IterationTab = (typeof iterationTabs)[number];

const runTabs = ['iterations', 'proof', 'charts', 'changes', 'plan'] as const;
export type RunTab = (typeof runTabs)[number];

/** What the page shows, as its address has it after the `#`. */
export type Route =
  | { readonly view: 'overview' }
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

export type RunRoute = Extract<Route, { view: 'run' }>;

/** `#/change/001-01_add/latest/7/diff` */
const parseRoute = (hash: string): Route => {
  const parts = hash.replace(/^#\/?/, '').split('/').map(decode);
  const [kind, change, run = 'latest', third = 'iterations', fourth = 'conversation'] = parts;
  if (kind !== 'change' || !change) return { view: 'overview' };
  const number = /^\d{1,9}$/.test(third) ? Number(third) : null;
  const tab = number === null ? (runTabs.find((name) => name === third) ?? 'iterations') : 'iterations';
  const iterationTab = iterationTabs.find((name) => name === fourth) ?? 'conversation';
  return { view: 'run', change, run, tab, iteration: number, iterationTab };
};

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

type RunPlace = { readonly change: string; readonly run?: string };

export const overviewHref = '#/';

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

export const goTo = (href: string): void => {
  location.hash = href;
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
  return parseRoute(hash);
};
