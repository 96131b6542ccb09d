import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { proofHtml } from '../../../../src/report/proof/html.ts';
import { reportWith, scenarioWith } from './reports.ts';

const now = new Date('2026-01-02T03:35:00.000Z');

test('one file with a policy that allows only its own style', () => {
  const html = proofHtml(reportWith(), now);
  const style = /<style>(.*)<\/style>/s.exec(html)![1]!;
  const hash = createHash('sha256').update(style).digest('base64');
  expect(html).toContain(
    `content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'"`,
  );
  expect(html).not.toMatch(/<script|<link|<img|\bstyle=|\bon\w+=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  expect(html.match(/<figure/g)).toHaveLength(4);
  for (const words of ['2 of 4 scenarios proven', 'login &gt; signs in', '1a2b3c4d', 'npm test', 'Written by Spool'])
    expect(html).toContain(words);
});

test('all text from outside is escaped', () => {
  const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;
  const scenario = scenarioWith({ title: evil, requirement: evil, id: evil, state: 'failing', reason: evil });
  const evidence = [{ ...scenario.evidence[0]!, test: evil, command: evil, outcome: 'failed' as const }];
  const { run, records } = reportWith();
  const html = proofHtml(
    reportWith({
      change: evil,
      title: evil,
      scenarios: [{ ...scenario, evidence, proof: { ...scenario.proof!, commit: evil } }],
      unknown: [{ id: evil, where: evil }],
      tasks: [{ title: evil, done: true, optional: false }],
      gate: { run: evil, iteration: 1, at: evil },
      run: { ...run!, run: evil, harness: evil, model: evil },
      records: records.map((record) => ({
        ...record,
        commit: evil,
        rejected: evil,
        gate: { ...record.gate!, runs: [{ ...record.gate!.runs[0]!, command: evil }] },
      })),
    }),
    now,
  );
  expect(html).not.toMatch(/<script|<img|"'>/);
});

test('without a run there are no charts', () => {
  const html = proofHtml(reportWith({ run: null, records: [], gate: null }), now);
  expect(html).not.toContain('<svg');
  expect(html).toContain('No gate has run yet.');
});
