import { expect, test } from 'vitest';
import type { AgentMode } from '../../../../src/harness/agent-mode.ts';
import { createExits } from '../../../../src/harness/acp/exit-notices.ts';
import type { AgentState } from '../../../../src/harness/acp/turn.ts';

const states: Record<string, AgentState> = {
  healthy: { type: 'healthy' },
  timeout: { type: 'unhealthy', why: null },
  broken: { type: 'unhealthy', why: 'it broke' },
  exited: { type: 'exited' },
  crashed: { type: 'crashed' },
};

const replaced = 'Agent is restarted: it broke.';
const idle = 'Agent is restarted: it exited between iterations.';
const doesNotStay = 'Agent does not stay running. It is started again for each iteration.';
const gaveUp = 'gave up: it exited in 2 iterations in a row';

test.each<[string, AgentMode, string[], (string | null)[]]>([
  ['nothing', 'warm', ['healthy', 'timeout', 'healthy'], [null, null, null]],
  ['a protocol error', 'warm', ['broken', 'broken'], [replaced, replaced]],
  ['a protocol error in standby', 'standby', ['broken', 'broken'], [null, null]],
  ['two crashes in a row', 'warm', ['crashed', 'crashed'], [null, gaveUp]],
  ['two crashes with an answer between them', 'warm', ['crashed', 'healthy', 'crashed'], [null, null, null]],
  ['a crash, and one while idle', 'warm', ['crashed', 'crashed, idle'], [null, gaveUp]],
  ['two exits while idle', 'standby', ['crashed, idle', 'crashed, idle'], [idle, gaveUp]],
  [
    'one that exits each time, and once does not',
    'warm',
    ['exited', 'exited, idle', 'exited, idle', 'healthy', 'exited', 'exited'],
    [null, doesNotStay, null, null, null, null],
  ],
  ['one that exits in standby', 'standby', ['exited', 'exited', 'exited'], [null, null, null]],
])('%s', (_, mode, iterations, expected) => {
  const exits = createExits('Agent', mode);
  const consequences = iterations.map((each) => {
    const [state, wasIdle] = each.split(', ');
    return exits(states[state!]!, { wasIdle: wasIdle !== undefined });
  });
  expect(consequences.map(({ notice, giveUp }) => notice ?? (giveUp === null ? null : `gave up: ${giveUp}`))).toEqual(
    expected,
  );
});
