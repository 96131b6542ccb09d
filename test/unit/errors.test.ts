import { describe, expect, test } from 'vitest';
import { asUserError, type ErrorCode, errorCodes, systemProblem, userError, UserError } from '../../src/errors.ts';

const text = 'one\ntwo\r\n  three\n\n\tfour';

/** Arguments for each error, with newlines in every text. */
const facts: Record<ErrorCode, unknown[]> = {
  'bad-rule': ['--allow', 'Bsh(x)', 'has an unknown name "Bsh"'],
  usage: [text],
  'no-commit': [],
  'review-without-git': [text],
  'red-first-no-git': [],
  'checkpoint-gone': [text, text],
  'no-reviewer': [text, text],
  'old-git': [text, text],
  'not-complete': [text, text],
  'in-queue': [text, text, text],
  'not-fetched': [text, text],
  'copies-differ': [text, text],
  'copies-blocked': [text, text],
  'file-locked': [1, text, text],
  'background-killed': ['SIGKILL'],
  'run-required': [[text]],
  'not-running': [text, text],
  'no-answer': [text, text, 3000],
  'pauses-first': [text, 3],
  'not-sandboxed': ['--sandbox-write', 'SPOOL_SANDBOX_WRITE'],
  'no-sandbox': ['bubblewrap is not installed', 'Install it with: apt-get install bubblewrap'],
  'bad-value': [text, text, text],
  'min-above-max': [3, 2],
  'ladder-and-harness': [text, text],
  'two-prompts': [],
  'change-as-prompt': ['002-02', ['002-01']],
  'unchecked-limit': ['--max-cost', 'Codex reports no cost', '--max-duration'],
  'same-promise': [text],
  'tree-locked': [text, text, 'ralph'],
  'two-actions': [text, text],
  'no-scenarios': [text, '--require-scenarios', 'none'],
  'unproven-scenarios': [text, text, text],
  'bad-task-file': [text, text],
  'bad-config': [text, text],
  'bad-queue': [text],
  'no-queue': [text],
  'queue-unreachable': [text, text],
  'no-queue-tables': [text],
  'old-queue-tables': [text, 1, 2],
  'not-queued': [text],
  'worker-running': [text, 7],
  'worker-name-taken': [text, text],
  'queue-denied': [text, text],
  'port-in-use': [text],
  'bad-tls': [text, text, text],
  'web-failed': [text, text],
  'metrics-failed': [text, text],
  'hub-failed': [text],
  'hub-stopped': [text],
  'hub-running': [text, 7],
  'no-hub': [text],
  'no-postgres': [text],
  'hub-without-tls': [text, text],
  'not-pushed': [text, text],
  'remote-unreachable': [text],
  'no-remote': [text],
  'no-project': [text],
  'home-project': [text],
  'change-required': [[text, text], true],
  'all-running': [[text, text]],
  'prompt-required': [],
  'id-taken': [text],
  'nothing-to-resume': [text, text],
  'no-changes': [text],
  'unknown-change': [{ query: text, folder: text, near: text, ids: [text] }],
  'archived-change': [text],
  'ambiguous-change': [text, [text, text]],
  'unknown-module': [{ query: text, folder: text, near: text, ids: [text] }],
  'ambiguous-module': [text, [text, text]],
  'unknown-id': [text, text],
  'ambiguous-id': [text, [text, text]],
  'module-mismatch': [text, text],
  cancelled: [text],
  'until-passed': [text, text, text],
  'not-started': [text, text, text],
  'limit-reached': [text, text, text],
  'no-proposal': [text, text],
  'empty-proposal': [text, text, text],
  'no-tasks': [text, text, text],
  'untrusted-project': [text, text, true],
  'untrusted-copy': [text, text, text],
  'land-gate-changed': [text, text],
  'git-blocked': [text],
  'in-iteration': ['accept'],
  'bad-prompt-file': [text, text],
  'empty-prompt-file': [text],
  'unknown-harness': [text, [text]],
  'missing-binary': [text, text, [text]],
  'agent-in-project': [text, text, [text]],
  locked: [text, text, 'archive'],
  'no-git': [text, text],
  'bad-branch': [text, text],
  'branch-blocked': [text, text],
  'setup-failed': [text, text],
  'no-branch': [text, text, text],
  'no-base': [text, '--onto'],
  'own-branch': [text, text],
  'not-published': [text, text, text],
  'remote-ahead': [text, text],
  'pull-closed': [text, text],
  'no-pull': [text, text],
  'old-gh': [text],
  'dirty-worktree': [text, text, text],
  'land-conflict': [text, text, text],
  'land-verify-failed': [text, text],
  'land-blocked': [text, text],
  'land-obstacle': [text, text],
  'land-backup-failed': [text],
  interrupted: [143, text],
  'no-checkpoint': [text, text, [text]],
  'no-iteration': [text],
  'no-run': [text, text, [text]],
  'no-log': [text, 3, text, text],
  'rewind-blocked': [text],
  'workspace-gone': [text],
  'rewind-incomplete': [text, text],
  'yes-required': [text],
  'bad-state': [text, text],
  'bad-slug': [text, text],
  'no-gh': [text, text],
  'gh-signed-out': [],
  'no-issue': [text, text],
  'ids-exhausted': [text],
  'open-tasks': [text, 1, 2],
  'several-task-files': [text, text, [text, text]],
  'not-landed': [text, text, text],
  'no-archive': [text, text],
  'bad-specs': [text, 2],
  'bad-encoding': [text],
  'already-archived': [text],
  'foreign-project': ['/tmp', 1000],
  'forged-checkpoint': ['001-01_x', '3'],
  'changed-run': ['001-01_x', ['gate']],
  'missing-run': ['002-01_x', '20261116-121856-20d0ac72', ['npm test']],
  'unknown-run': ['001-01_x'],
  'changed-last-run': ['001-01_x', ['gate']],
  'unknown-gate': ['001-01_x'],
  'redacted-run': ['001-01_x', '--verify'],
  'planted-link': [text, text, text],
  'unsearched-git': [text, text],
  'other-repository': [text, text, text, text],
  'foreign-repository': [text, text, text],
  'foreign-work-tree': [text, text, text],
  'replaced-git': [text],
  'unaccepted-goal': [text, text],
  'gone-change': ['001-01_a'],
  'unsafe-file': ['openspec', 'is a symbolic link', 'Replace it with a folder.'],
  'too-large': ['tasks.md', 16 * 1024 * 1024],
  io: [text, text],
  system: ['write', text],
};

const build = userError as (code: ErrorCode, ...facts: unknown[]) => UserError;

describe('every error message is one line', () => {
  test.each(errorCodes)('%s', (code) => {
    const error = build(code, ...facts[code]);
    expect(error.message).toMatch(/^[^\r\n]+$/);
    expect(error.message).not.toMatch(/undefined|\[object/);
    expect(error).toMatchObject({ code, exitCode: expect.any(Number) });
  });
});

test.each([
  ['one\ntwo', 'one two'],
  ['one  \r\n\n\t two', 'one two'],
  ['one  two', 'one  two'],
])('%j becomes %j', (message, expected) => {
  expect(new UserError('usage', message, 2).message).toBe(expected);
});

test('a long list of changes is truncated', () => {
  const ids = Array.from({ length: 12 }, (_, number) => `001-${number + 10}_x`);
  expect(userError('change-required', ids, false).message).toContain('001-19_x and 2 more.');
  expect(userError('change-required', ids.slice(2), false).message).toContain('001-20_x, 001-21_x.');
  expect(userError('change-required', [], false).message).toContain('There is no active change');
});

test.each([
  [{ code: 'ENOENT' }, 'no such file'],
  [{ code: 'EPERM' }, 'permission denied'],
  [{ code: 'ENOSPC' }, 'the disk is full'],
  [{ code: 'EMFILE' }, 'EMFILE'],
  [new Error('odd'), 'odd'],
  ['odd', 'odd'],
  [null, 'null'],
])('%j is described as %j', (error, expected) => {
  expect(systemProblem(error)).toBe(expected);
});

test.each([
  [userError('no-commit'), userError('no-commit')],
  [
    { code: 'EISDIR', syscall: 'open', path: '/p/x' },
    { code: 'io', message: 'Cannot access /p/x: it is a folder.' },
  ],
  [
    { code: 'ENOSPC', syscall: 'write' },
    { code: 'system', message: 'Cannot write: the disk is full.' },
  ],
  [{ code: 'ENOENT', syscall: 'uv_cwd' }, { message: 'Cannot access the current folder: no such file.' }],
])('%j is not a bug in Spool', (error, expected) => {
  expect(asUserError(error)).toMatchObject(expected);
});

test.each([[new TypeError('odd')], [{ code: 'ERR_ODD' }], ['odd'], [null], [undefined]])('%j is a bug', (error) => {
  expect(asUserError(error)).toBeNull();
});
