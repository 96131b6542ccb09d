import { describe, expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject } from '../support/project.ts';
import { openTerminal } from '../support/terminal.ts';

const downArrow = '\u001b[B';
const escape = '\u001b';

const changes = {
  '.spool/changes/003-01_other/proposal.md': '# Other\n',
  '.spool/changes/003-01_other/tasks.md': '- [x] one\n- [ ] two\n',
  '.spool/changes/archive/2026-01-31-001-01_old/proposal.md': '# Old\n',
};

describe('Requirement: Change/module targeting defaults', () => {
  // @scenario ralph-loop/change-module-targeting-defaults/resolve-module-from-change
  test('Resolve module from change', async () => {
    const project = createProject({ agent: [promise] });

    await project.spool('ralph', 'Build it.', '--change', change);

    expect(project.state().module).toBe('002');
    expect(project.calls()[0]!.prompt).toContain('## Module (002)\n\n# Ralph\n\nThe purpose of the module.');
  });

  // @scenario ralph-loop/change-module-targeting-defaults/interactive-selection-when-omitted
  test('Interactive selection when omitted', async () => {
    const project = createProject({ agent: [promise], files: changes });

    const terminal = openTerminal(project, ['ralph', 'Build it.']);
    await terminal.shows('Which change?');
    await terminal.shows('003-01_other');
    expect(terminal.screen()).toContain(change);
    expect(terminal.screen()).not.toContain('001-01_old');
    // The first row is a new change with this prompt.
    terminal.type(downArrow.repeat(2));
    terminal.type('\r');

    expect(await terminal.exitCode).toBe(0);
    expect(project.history('003-01_other')).toHaveLength(1);
    expect(project.history(change)).toEqual([]);

    const cancelled = openTerminal(project, ['ralph', 'Build it.']);
    await cancelled.shows('Which change?');
    cancelled.type(escape);
    await cancelled.shows('Cancelled: no change was selected');
    expect(await cancelled.exitCode).toBe(130);
    expect(project.calls()).toHaveLength(1);
  });

  // @scenario ralph-loop/change-module-targeting-defaults/non-interactive-error-when-omitted
  test('Non-interactive error when omitted', async () => {
    const project = createProject({ agent: [promise], files: changes });

    const piped = await project.spool('ralph', 'Build it.');
    expect(piped).toMatchObject({ code: 2, stdout: '' });
    expect(piped.stderr).toBe(
      `spool: --change is required in non-interactive mode (or --new for a new change). Active changes: ${change}, 003-01_other.\n`,
    );

    const terminal = openTerminal(project, ['ralph', 'Build it.', '--no-interactive']);
    await terminal.shows('--change is required');
    expect(await terminal.exitCode).toBe(2);
    expect(project.calls()).toEqual([]);
    expect(project.exists('.spool/.state')).toBe(false);
  });
});
