import type { Evidence, Ledger, Proof, ProvingWorker, ScenarioProof, ScenarioState } from '../ralph/proof.ts';
import {
  count,
  droppedIfInvalid,
  type Fields,
  isoTime,
  listOf,
  number,
  object,
  oneOf,
  orNull,
  required,
  type Shape,
  text,
  validItems,
  withFallback,
} from '../text/shape.ts';

export const scenarioStates = [
  'unlinked',
  'linked',
  'failing',
  'proven',
  'stale',
] as const satisfies readonly ScenarioState[];

const evidenceFields: Fields<Evidence> = {
  kind: required(oneOf(['command', 'test'])),
  command: required(text),
  exitCode: required(orNull(number)),
  test: required(orNull(text)),
  file: required(orNull(text)),
  outcome: required(oneOf(['passed', 'failed', 'skipped', 'todo', 'not-run'])),
};

const evidence: Shape<Evidence> = object<Evidence>(evidenceFields);

const worker: Shape<ProvingWorker> = object<ProvingWorker>({
  name: required(text),
  host: required(orNull(text)),
  epoch: required(count),
});

const proof: Shape<Proof> = object<Proof>({
  ...evidenceFields,
  hash: required(text),
  run: required(text),
  iteration: required(count),
  checkpoint: required(orNull(text)),
  commit: required(orNull(text)),
  at: required(isoTime),
  worker: droppedIfInvalid(worker),
});

const scenarioProof: Shape<ScenarioProof> = object<ScenarioProof>({
  id: required(text),
  title: required(text),
  requirement: withFallback(null, orNull(text)),
  hash: required(text),
  state: required(oneOf(scenarioStates)),
  reason: required(orNull(text)),
  evidence: required(listOf(evidence)),
  proof: required(orNull(proof)),
  redFirst: droppedIfInvalid(oneOf(['failed', 'absent', 'passed', 'not-tried'])),
});

/** The content of ledger.json; undefined if it is damaged or of another version. */
export const parseLedger: Shape<Ledger> = object<Ledger>({
  v: required(oneOf([1])),
  change: required(text),
  run: required(text),
  iteration: required(count),
  at: required(isoTime),
  worker: droppedIfInvalid(worker),
  scenarios: required(listOf(scenarioProof)),
  unknown: withFallback(
    [],
    validItems(object<Ledger['unknown'][number]>({ id: required(text), where: required(text) })),
  ),
});
