import { describe, expect, test } from 'vitest';
import { createPermissionAnswers } from '../../../../src/harness/acp/permission-answers.ts';
import type { DeniedRequest } from '../../../../src/harness/acp/log-lines.ts';

const root = '/home/dev/app';
const once = [
  { optionId: 'yes', kind: 'allow_once' },
  { optionId: 'no', kind: 'reject_once' },
];
const always = [{ optionId: 'ever', kind: 'allow_always' }];

const answersOf = (allowAll: boolean) => {
  const denied: DeniedRequest[] = [];
  const answers = createPermissionAnswers({
    policy: { root, home: null, allowAll, allow: [], deny: [] },
    isReview: false,
    session: () => 'now',
    onDenied: (each) => denied.push(each),
  });
  const announce = (sessionId: string, update: object) =>
    answers.observe(JSON.stringify({ method: 'session/update', params: { sessionId, update } }));
  const ask = (toolCall: object, options: object[] = once) =>
    answers.answer({ sessionId: 'now', toolCall: { toolCallId: 'w', ...toolCall }, options });
  return { announce, ask, denied };
};

const selected = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } });
const cancelled = { outcome: { outcome: 'cancelled' } };
const paths = { rawInput: { path: 'a' } };

describe('what was announced before', () => {
  test.each([
    ['now', 'yes'],
    ['before', 'no'],
  ])('by the session "%s"', (session, answer) => {
    const { announce, ask } = answersOf(false);
    announce(session, { toolCallId: 'w', kind: 'read' });
    expect(ask(paths)).toEqual(selected(answer));
  });
});

describe('options', () => {
  test('a request that can only be allowed for ever is denied, with the reason', () => {
    const { ask, denied } = answersOf(true);
    expect(ask({ kind: 'edit', ...paths }, always)).toEqual(cancelled);
    expect(denied).toEqual([{ id: 'w', tool: 'edit', title: '', reason: 'it offers only to allow for ever' }]);
    expect(ask({ kind: 'edit', ...paths }, [])).toEqual(cancelled);
    expect(denied[1]?.reason).toBe('it offers no option to allow once');
    expect(ask({ kind: 'edit', ...paths })).toEqual(selected('yes'));
    expect(denied).toHaveLength(2);
  });

  test('an id that also stands for allowing is not chosen', () => {
    const { ask } = answersOf(false);
    const same = ['allow_once', 'reject_once'].map((kind) => ({ optionId: 'ok', kind }));
    expect(ask({ kind: 'edit', ...paths }, same)).toEqual(cancelled);
    expect(ask({ kind: 'edit', ...paths }, [{ optionId: 'no' }, once[1]!])).toEqual(cancelled);
  });
});
