import { expect, test } from 'vitest';
import {
  iterationHref,
  overviewHref,
  parseRoute,
  runHref,
  sameViewHref,
  type RunRoute,
} from '../../../src/web/page/route.ts';

const run: RunRoute = {
  view: 'run',
  change: 'a/b?c #d',
  run: 'latest',
  tab: 'iterations',
  iteration: null,
  iterationTab: 'conversation',
};

test.each<[string, ReturnType<typeof parseRoute>]>([
  ['', { view: 'overview', filter: '', group: null }],
  ['#/?state=unknown', { view: 'overview', filter: '', group: null }],
  ['#/change/', { view: 'overview', filter: '', group: null }],
  ['#/change/%E0%A4%A', { ...run, change: '%E0%A4%A' }],
  ['#/change/a/b/x/y', { ...run, change: 'a', run: 'b' }],
  [overviewHref({ filter: 'a & b', group: 'running' }), { view: 'overview', filter: 'a & b', group: 'running' }],
  [runHref(run), run],
  [runHref(run, 'charts'), { ...run, tab: 'charts' }],
  [iterationHref(run, 7, 'diff'), { ...run, iteration: 7, iterationTab: 'diff' }],
  [iterationHref(run, null, 'log'), { ...run, iterationTab: 'log' }],
  [sameViewHref({ ...run, tab: 'plan' }, { ...run, run: 'x' }), { ...run, run: 'x', tab: 'plan' }],
])('the address %s', (hash, expected) => {
  expect(parseRoute(hash)).toEqual(expected);
});
