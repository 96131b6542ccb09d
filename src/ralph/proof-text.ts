import type { ScenarioProof } from './proof.ts';

const maxRows = 100;

/** The rows of a ledger for another agent: one line for each scenario. */
export const describeProof = (rows: readonly ScenarioProof[]): string =>
  [
    ...rows.slice(0, maxRows).map((row) => `- \`${row.id}\`: ${row.state}${whyOf(row)}`),
    ...(rows.length > maxRows ? [`- and ${rows.length - maxRows} more`] : []),
  ].join('\n');

const whyOf = ({ state, reason, proof }: ScenarioProof): string => {
  if (state !== 'proven' || proof === null) return reason === null ? '' : ` (${reason})`;
  const where = proof.file === null ? '' : ` in ${proof.file}`;
  return proof.test === null ? ` by \`${proof.command}\`` : ` by the test "${proof.test}"${where}`;
};
