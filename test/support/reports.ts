import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Format } from './mutations.ts';
import { root } from './project.ts';

const folder = join(root, 'test/fixtures/reports');

/** Reports of real runners (`scripts/record-reports.mjs`). */
export const recordedReports = (): { readonly name: string; readonly bytes: Buffer }[] =>
  readdirSync(folder)
    .filter((name) => name !== 'suites.mjs')
    .toSorted()
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));

export const formatOfReport = (name: string): Format =>
  name === 'go-test.json' ? 'lines of json' : name.endsWith('.json') ? 'json' : 'text';
