import { test } from 'vitest';
import { forEachConcurrent } from '../support/concurrency.ts';
import { checkDamagedSpec, checkVanishingSpec, damagedSpecs, sources } from '../support/damaged-specs.ts';
import { createRandom, report } from '../support/trials.ts';

/** Of several hundred. FUZZ_RUNS sets another number. */
const runs = Number(process.env.FUZZ_RUNS ?? 30);

test(`${runs} damaged or hostile files of other tools' specs cause no crash, hang or leak`, async () => {
  const random = createRandom('specs');
  const chosen = damagedSpecs
    .map((spec) => ({ spec, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .slice(0, runs)
    .map(({ spec }) => spec);
  await forEachConcurrent(chosen, 2, checkDamagedSpec);
  for (const source of sources) await checkVanishingSpec(source);
  report({
    what: 'files of OpenSpec, Ito, spec-kit and Kiro with hostile contents, or replaced by links, FIFOs and folders',
    trials: chosen.length + sources.length,
    found: '0 crashes, 0 hangs, 0 control sequences, nothing outside read or changed',
  });
});
