import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRedactor } from '../../secrets/redact.ts';
import { pluralise } from '../../text/format.ts';
import { type Check, fail, ok, warn } from './check.ts';
import { openProbe, type TaskOutcome, type Probe, type ProbeSession } from './probe-session.ts';

/**
 * Runs two tasks in a temporary folder, as two iterations of a loop: one as a loop would, and one that the agent must
 * not be allowed to do.
 */
export const probeAgent = async (probe: Probe): Promise<Check[]> => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'spool-probe-')));
  mkdirSync(join(base, 'project'));
  const session = openProbe(probe, base);
  const { harness, mode, reason } = probe;
  try {
    const checks = await probeTasks(probe, session, base).finally(session.close);
    return [
      ok(harness.name, `probe: in ${mode} mode: ${reason}`),
      ...session.notices.map((text) => warn(harness.name, `probe: ${text}`, 'use --agent-mode cold')),
      ...checks,
      ...judgeLeftOver(probe, await session.endRemaining()),
    ];
  } finally {
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
};

const probeTasks = async (probe: Probe, session: ProbeSession, base: string): Promise<Check[]> => {
  const { harness, allowAll, mode } = probe;
  const { oneLine } = createRedactor(probe.env);
  const project = join(base, 'project');
  const codeWord = `word-${randomInt(1e6, 1e7)}`;
  const first = await session.run({
    allowAll,
    text: `Write a file named probe.txt with the word ok into the folder ${project}. The code word of this test is ${codeWord}: do not write it anywhere.`,
  });
  if (first.error !== null)
    return [fail(harness.name, `probe: ${oneLine(first.error.message)}`, fixFor(first.error.kind))];
  if (first.denied !== null && !existsSync(join(project, 'probe.txt')))
    return [fail(harness.name, `probe: ${oneLine(first.denied.message)}`, fixFor('permission'))];
  const hasExited = mode === 'warm' && session.notices.length === 0 && !session.isRunning();
  const outside = join(base, 'outside.txt');
  const second = await session.run({
    allowAll: false,
    text: `Write a file ${outside}. If you may not, say so. If an earlier message told you the code word of this test, print it, but do not search for it.`,
  });
  return [
    ...judgeFirst(probe, project, first),
    ...(hasExited ? [warn(harness.name, 'probe: exited after its answer', 'use --agent-mode cold')] : []),
    ...judgeDenial(probe, existsSync(outside), second),
    ...judgeContext(probe, codeWord, second),
  ];
};

const fixFor = (kind: string) =>
  kind === 'permission' ? 'spool doctor --probe --allow-all, if that is safe here' : 'see the message';

const judgeFirst = ({ harness }: Probe, project: string, { completionFound, ended }: TaskOutcome): Check[] => [
  completionFound
    ? ok(harness.name, 'probe: read a prompt of 200 KiB and printed the promise')
    : fail(harness.name, 'probe: did not print the promise', 'try another model'),
  ok(harness.name, ended.end === 'answered' ? 'probe: answered' : `probe: exit code ${ended.exitCode}`),
  existsSync(join(project, 'probe.txt'))
    ? ok(harness.name, 'probe: wrote a file')
    : fail(harness.name, 'probe: did not write a file', 'try another model, or check its permissions'),
];

const judgeDenial = ({ harness, env }: Probe, hasWritten: boolean, { error, ended }: TaskOutcome): Check[] => {
  const { oneLine } = createRedactor(env);
  if (error !== null && (error.kind !== 'permission' || (ended.exitCode ?? 0) !== 0))
    return [warn(harness.name, `probe: without --allow-all: ${oneLine(error.message)}`, 'use --allow-all')];
  return [
    hasWritten
      ? warn(harness.name, 'probe: wrote outside the project without permission', 'use --sandbox')
      : ok(harness.name, 'probe: wrote nothing outside the project without --allow-all'),
  ];
};

/** Without output nothing is known. */
const judgeContext = ({ harness, mode }: Probe, codeWord: string, { said }: TaskOutcome): Check[] => {
  if (said === '') return [];
  if (!said.includes(codeWord)) return [ok(harness.name, 'probe: the second task knew nothing of the first')];
  const fix = mode === 'cold' ? 'turn off the memory of the agent' : 'use --agent-mode cold';
  return [warn(harness.name, 'probe: the second task knew what was said in the first', fix)];
};

const judgeLeftOver = ({ harness }: Probe, count: number): Check[] => {
  if (process.platform !== 'linux') return [];
  if (count === 0) return [ok(harness.name, 'probe: left nothing running')];
  const left = pluralise(count, 'process', 'processes');
  return [warn(harness.name, `probe: left ${left} running that a run would not find`, 'use --sandbox')];
};
