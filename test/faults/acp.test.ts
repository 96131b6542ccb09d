import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAcpDecoder } from '../../src/harness/acp/decoder.ts';
import type { AgentMode } from '../../src/harness/agent-mode.ts';
import type { AgentEvent } from '../../src/ralph/agent-events.ts';
import { processStart } from '../../src/process/start-time.ts';
import { createAcpProject } from '../support/acp.ts';
import { eventually } from '../support/eventually.ts';
import { processesWith } from '../support/processes.ts';
import { change } from '../support/project.ts';

const go = ['ralph', 'Go.', '--change', change, '--retry-delay', '0s', '--max-stalled', 'unlimited'];
const warm = [...go, '--agent-mode', 'warm'];
const linux = process.platform === 'linux';

const untilForked = 'until grep -q forked "$HOME/acp-seen.jsonl"; do sleep 0.02; done';
/** Into a session of its own. */
const untilMoved = 'until [ -e "$HOME/acp-moved" ]; do sleep 0.02; done';

describe.runIf(linux)('an agent that breaks the rules of ACP', () => {
  test('does not make a promise count that is not its last message, and leaves nothing running', async () => {
    const turns = ['twice', 'asks', 'flood', 'late', 'elsewhere', 'junk', 'forks', 'complete'];
    const project = createAcpProject({ turns });

    const result = await project.spool(...warm);

    expect(result).toMatchObject({ code: 0 });
    const history = project.history();
    expect(history.map(({ end, error, completionFound }) => ({ end, error, completionFound }))).toEqual(
      turns.map((turn) => ({ end: 'answered', error: null, completionFound: turn === 'complete' })),
    );
    expect(history.at(-1)!.usage).toMatchObject({ inputTokens: 700, outputTokens: 30, costUsd: null });
    expect(history[5]!.usage).toBeNull();
    // One process, and a session for each iteration.
    const seen = project.seen();
    expect(seen.filter(({ boot }) => boot)).toHaveLength(1);
    expect(new Set(seen.flatMap(({ session }) => session ?? []))).toHaveProperty('size', turns.length);
    expect(seen).toContainEqual({ unknown: -32601 });
    const forked = seen.find((each) => each.forked)!.forked as number;
    expect(() => process.kill(forked, 0)).toThrow('ESRCH');
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);

    // The log has everything: its events are those of the run.
    const folder = project.stateFile(`runs/${project.state().run}`);
    const logged = readFileSync(`${folder}/0008.log`, 'utf8');
    expect(logged).toContain('> {"jsonrpc":"2.0","id":');
    expect(logged).toContain('"prompt":"(see the prompt)"');
    const decoder = createAcpDecoder('scripted');
    const events = [
      ...logged
        .trimEnd()
        .split('\n')
        .flatMap((line) => decoder.stdout(line) ?? []),
      ...decoder.end(),
    ];
    const said = (all: readonly AgentEvent[]) => all.filter(({ type }) => type === 'text' || type === 'usage');
    expect(said(events)).toMatchObject([{ text: 'All is done.\n\n<promise>COMPLETE</promise>' }, { inputTokens: 700 }]);
    expect(readFileSync(`${folder}/0006.log`, 'utf8')).toContain('! # {"usage":');
    expect((await project.spool('logs', change, '8')).stdout).toContain('All is done.');
  });

  test('is ended before its promise is checked, with all that it has started, and started again if it is rejected', async () => {
    const project = createAcpProject({ turns: ['complete, with a process that stays', 'complete'] });
    // A zombie is not running. A command that fails is run a second time.
    const verify = [
      'for pid in $(cat "$HOME/acp-pids"); do',
      `case "$(sed 's/.*) //' /proc/$pid/stat 2>/dev/null)" in ''|Z*) ;; *) exit 2;; esac; done;`,
      'echo >> "$HOME/checks"; [ "$(wc -l < "$HOME/checks")" -gt 2 ]',
    ].join(' ');

    const result = await project.spool(...warm, '--verify', verify);

    expect(result).toMatchObject({ code: 0 });
    expect(project.history().map(({ gate }) => gate!.runs.map(({ exitCode }) => exitCode))).toEqual([[1], [0]]);
    expect(project.seen().filter(({ boot }) => boot)).toHaveLength(2);
    expect(result.stderr).not.toContain('is restarted');
  });

  test.each([
    ['is started after the answer', 'forks late', 'true'],
    // It counts as a helper of the agent until then.
    ['has no session of its own until the answer', 'forks slowly', `touch "$HOME/acp-go"; ${untilMoved}`],
  ])('leaves no tool to a later iteration that %s', async (_, turn, verify) => {
    const project = createAcpProject({ turns: [turn, 'looks', 'looks', 'complete'] });
    const result = await project.spool(...warm, '--verify-each', '--verify', `${untilForked}; ${verify}`);

    expect(result).toMatchObject({ code: 0 });
    expect(project.seen().flatMap(({ isRunning }) => isRunning ?? [])).toEqual([false, false]);
  });

  test.each<[string, string, AgentMode]>([
    ['Ctrl-C', 'forks unmarked', 'warm'],
    ['Ctrl-C', 'forks unmarked', 'cold'],
    ['a timeout', 'forks unmarked', 'warm'],
    ['a normal end', 'forks unmarked late', 'warm'],
    ['a normal end after which it starts one', 'forks slowly', 'warm'],
  ])('leaves no tool without a mark after %s: %s, %s', async (end, turn, mode) => {
    const project = createAcpProject({ turns: [turn] });
    const moves = turn === 'forks slowly' ? `; touch "$HOME/acp-go"; ${untilMoved}` : '';
    const verify = end.startsWith('a normal end') ? ['--verify', `${untilForked}${moves}`, '--verify-each'] : [];
    const timeout = end === 'a timeout' ? '2s' : '1m';
    const limits = ['--iteration-timeout', timeout, '--max-iterations', '1', '--stop-grace', '500ms'];

    const loop = project.start([...go, '--agent-mode', mode, ...limits, ...verify]);
    const forked = () => project.seen().find((each) => each.forked)?.forked as number | undefined;
    await eventually(() => forked() !== undefined, 'the tool', 60_000);
    if (end === 'Ctrl-C') loop.kill('SIGINT');
    await loop.result;

    expect(processStart(forked()!)).toBeNull();
  });

  test('fails an iteration in which it dies, and runs cold after two in a row', async () => {
    const project = createAcpProject({ turns: ['dies', 'answer', 'refused', 'nothing', 'killed', 'dies', 'complete'] });

    const result = await project.spool(...warm, '--max-failures', 'unlimited', '--max-wait', '0s');
    // A rate limit without time to wait ends the run.
    expect(result).toMatchObject({ code: 3 });
    const again = await project.spool(...warm, '--max-failures', 'unlimited');

    expect(again).toMatchObject({ code: 0 });
    expect(again.stderr.match(/cannot run in warm mode \(it exited in 2 iterations in a row\)/g)).toHaveLength(1);
    expect(project.history().map(({ end, error }) => [end, error?.kind ?? null])).toEqual([
      ['exited', 'crash'],
      ['answered', null],
      ['answered', 'rate-limit'],
      ['answered', 'truncated'],
      ['killed', 'crash'],
      ['exited', 'crash'],
      ['answered', null],
    ]);
    expect(project.seen().filter(({ turn }) => turn)).toHaveLength(7);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('gets a new process after an error of the protocol, and not after one of the provider', async () => {
    const turns = ['refused', 'answer', 'broken', 'invalid request', 'no stop reason', 'answer', 'complete'];
    const project = createAcpProject({ turns });

    const limits = ['--max-failures', 'unlimited', '--max-wait', '0s'];
    expect(await project.spool(...warm, ...limits)).toMatchObject({ code: 3 });
    const result = await project.spool(...warm, ...limits);

    expect(result).toMatchObject({ code: 0 });
    expect(project.history().map(({ error }) => error?.kind ?? null)).toEqual([
      'rate-limit',
      null,
      'unknown',
      'transport',
      'truncated',
      null,
      null,
    ]);
    const said = result.stderr.replaceAll(/\s+/g, ' ');
    expect(said.match(/scripted is restarted: it answered with a protocol error\./g)).toHaveLength(3);
    // The limit ended the first run.
    expect(turnsOfProcesses(project.seen())).toEqual([1, 2, 1, 1, 2]);
  });

  test('closes a session that it refused to set up', async () => {
    const model = createAcpProject({ boots: ['refuses session/set_config_option'], turns: ['answer'] });
    const mode = createAcpProject({ boots: ['refuses session/set_mode'], turns: ['answer'] }, { mode: 'code' });
    const twice = ['--max-iterations', '2', '--max-failures', 'unlimited'];

    const [unknownModel, unknownMode] = await Promise.all([
      model.spool(...warm, ...twice, '--model', 'some/model'),
      mode.spool(...warm, ...twice),
    ]);

    for (const { seen } of [model, mode]) {
      const closed = seen().filter(({ method }) => method === 'session/close');
      expect(new Set(closed.map(({ sessionId }) => sessionId))).toHaveProperty('size', 2);
    }
    expect(model.history().map(({ error }) => error?.kind)).toEqual(['model', 'model']);
    expect(unknownModel.stderr).not.toContain('is restarted');
    expect(model.seen().filter(({ boot }) => boot)).toHaveLength(1);
    expect(mode.history().map(({ error }) => error?.kind)).toEqual(['unknown', 'unknown']);
    expect(unknownMode.stderr.match(/is restarted: it answered with a protocol error/g)).toHaveLength(1);
    expect(mode.seen().filter(({ boot }) => boot)).toHaveLength(2);
  });

  test('is announced if it exits between iterations, and runs cold after two in a row', async () => {
    const project = createAcpProject({ boots: ['ok'], turns: ['answer', 'answer', 'answer', 'complete'] });
    const findPid = String.raw`pid=$(sed -n 's/.*"boot":"ok","pid":\([0-9]*\).*/\1/p' "$HOME/acp-seen.jsonl" | tail -n 1)`;
    const kill = `${findPid}; kill -9 $pid && while kill -0 $pid; do :; done; true`;

    const result = await project.spool(...warm, '--verify-each', '--verify', kill);

    expect(result).toMatchObject({ code: 0 });
    const said = result.stderr.replaceAll(/\s+/g, ' ');
    expect(said.match(/scripted is restarted: it exited between iterations\./g)).toHaveLength(1);
    expect(said.match(/cannot run in warm mode \(it exited in 2 iterations in a row\)/g)).toHaveLength(1);
    expect(project.history().map(({ end, error }) => [end, error])).toEqual(
      Array.from({ length: 4 }, () => ['answered', null]),
    );
  });

  test('is announced once if it never stays running', async () => {
    const leaves = 'answer, then exit 0';
    const project = createAcpProject({ turns: [leaves, leaves, leaves, leaves, 'complete'] });

    const result = await project.spool(...warm);

    expect(result).toMatchObject({ code: 0 });
    const said = result.stderr.replaceAll(/\s+/g, ' ');
    expect(said.match(/scripted does not stay running/g)).toHaveLength(1);
    expect(said).not.toContain('cannot run in warm mode');
    expect(project.seen().filter(({ boot }) => boot)).toHaveLength(5);
  });

  test('is announced if it does not close its session', async () => {
    const project = createAcpProject({ boots: ['silent at session/close', 'ok'], turns: ['answer', 'complete'] });

    const result = await project.spool(...warm);

    expect(result).toMatchObject({ code: 0 });
    const said = result.stderr.replaceAll(/\s+/g, ' ');
    expect(said.match(/scripted is restarted: it did not close its session\./g)).toHaveLength(1);
    expect(project.seen().filter(({ boot }) => boot)).toHaveLength(2);
  });

  test.each(['with close', 'without close'])(
    'does not make a promise count if it exits with an error after its answer: %s',
    async (boot) => {
      const turns = ['complete, then exit 3', 'answer', 'complete, then killed', 'complete, then exit 0'];
      const project = createAcpProject({ boots: [boot], turns });

      const result = await project.spool(...warm, '--max-failures', 'unlimited');

      expect(result).toMatchObject({ code: 0 });
      expect(result.stderr).not.toContain('cannot run in warm mode');
      expect(
        project.history().map(({ end, exitCode, error, completionFound, rejected }) => ({
          ended: exitCode === null ? end : `${end} ${exitCode}`,
          error: error?.message ?? null,
          completionFound,
          rejected,
        })),
      ).toEqual([
        {
          ended: 'exited 3',
          error: 'the agent exited with code 3: Error: the disk is on fire',
          completionFound: false,
          rejected: 'the agent exited with code 3: Error: the disk is on fire',
        },
        { ended: 'answered', error: null, completionFound: false, rejected: null },
        {
          ended: 'killed',
          error: 'the agent was killed by SIGKILL',
          completionFound: false,
          rejected: 'the agent was killed by SIGKILL',
        },
        { ended: 'exited 0', error: null, completionFound: true, rejected: null },
      ]);
      expect(project.seen().filter((each) => each.boot)).toHaveLength(3);
      expect(processesWith(`HOME=${project.home}`)).toEqual([]);
    },
  );

  test('runs cold if it opens the same session again, which has the context of an earlier iteration', async () => {
    const project = createAcpProject({ boots: ['same session'], turns: ['answer', 'answer', 'complete'] });

    const result = await project.spool(...warm);

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr.match(/cannot run in warm mode \(it opened the same session again\)/g)).toHaveLength(1);
    expect(project.history().map(({ error }) => error?.message ?? null)).toEqual([
      null,
      expect.stringContaining('it opened the same session again'),
      null,
      null,
    ]);
    // Each iteration had its own process, and therefore its own session.
    expect(new Set(project.seen().flatMap(({ session }) => session ?? []))).toHaveProperty('size', 3);
  });

  test('is stopped by a timeout, although it ignores being cancelled, and by Ctrl-C', async () => {
    const project = createAcpProject({ turns: ['stubborn', 'silent'] });

    const loop = project.start([...warm, '--iteration-timeout', '2s', '--stop-grace', '200ms']);
    await eventually(() => project.history().length === 1, 'the timeout', 60_000);
    await eventually(() => project.seen().some(({ turn }) => turn === 'silent'), 'the second prompt', 60_000);
    loop.kill('SIGINT');

    expect(await loop.result).toMatchObject({ code: 130 });
    expect(project.history()).toMatchObject([
      { end: 'timed-out', error: { kind: 'timeout' } },
      { end: 'interrupted', completionFound: false },
    ]);
    expect(project.seen().filter(({ method }) => method === 'session/cancel')).toHaveLength(2);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test.each<[string, string[], string[]]>([
    ['a tool that saves its work when its agent ends', ['tool', 'complete'], ['EOF', 'EOF']],
    ['an agent that ignores the end of its input', ['stubborn', 'complete'], ['EOF', 'SIGTERM', 'EOF']],
    [
      'an agent that answers with a promise when it is cancelled',
      ['promises when cancelled', 'complete'],
      ['EOF', 'EOF'],
    ],
  ])('closes the input of an agent before it sends a signal, and prompts it no more: %s', async (_, turns, ended) => {
    const project = createAcpProject({ turns });
    const limits = ['--iteration-timeout', '2s', '--stop-grace', '3s', '--max-failures', 'unlimited'];

    const result = await project.spool(...warm, ...limits);

    expect(result).toMatchObject({ code: 0 });
    expect(project.history()).toMatchObject([
      { end: 'timed-out', error: { kind: 'timeout' }, completionFound: false },
      { end: 'answered', error: null, completionFound: true },
    ]);
    const seen = project.seen();
    expect(turnsOfProcesses(seen)).toEqual([1, 1]);
    expect(seen.flatMap((each) => each.ended ?? [])).toEqual(ended);
    expect(existsSync(join(project.home, 'acp-tool'))).toBe(turns[0] === 'tool');
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test('gets a new process after twenty iterations', async () => {
    const project = createAcpProject({ turns: [...Array.from({ length: 20 }, () => 'answer'), 'complete'] });

    const result = await project.spool(...warm);

    expect(result).toMatchObject({ code: 0 });
    expect(turnsOfProcesses(project.seen())).toEqual([20, 1]);
    expect(result.stderr.match(/scripted is restarted: it has run 20 iterations/g)).toHaveLength(1);
  });

  test('is ended by the next start if Spool was killed', async () => {
    const project = createAcpProject({ turns: ['forks', 'stubborn', 'complete'] });
    const loop = project.start([...warm, '--stop-grace', '200ms']);
    await eventually(() => project.seen().some((each) => each.stubborn), 'the second prompt', 60_000);
    loop.kill('SIGKILL');
    await loop.result;
    expect(processesWith(`HOME=${project.home}`)).not.toEqual([]);

    const resumed = await project.spool('ralph', '--resume', '--change', change);

    expect(resumed).toMatchObject({ code: 0 });
    expect(project.history().map(({ end }) => end)).toEqual(['answered', 'answered']);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test.each<[string, string[], string[], object[]]>([
    ['in a tool call', ['ok'], ['dies in a tool call', 'complete'], [{ end: 'exited', error: { kind: 'crash' } }]],
    [
      'during a permission request',
      ['ok'],
      ['dies during a permission request', 'complete'],
      [{ end: 'exited', error: { kind: 'permission' }, denied: { tools: ['other'] } }],
    ],
    [
      'when its session is closed',
      ['dies at session/close', 'ok'],
      ['complete', 'answer', 'complete'],
      [
        { end: 'exited', exitCode: 3, error: { kind: 'crash' } },
        { end: 'answered', error: null },
      ],
    ],
  ])('fails the iteration if it dies %s, and gets a new process', async (_, boots, turns, before) => {
    const project = createAcpProject({ boots, turns });

    const result = await project.spool(...warm, '--max-failures', 'unlimited');

    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).not.toContain('cannot run in warm mode');
    expect(project.history()).toMatchObject([
      ...before.map((each) => ({ ...each, completionFound: false })),
      { end: 'answered', completionFound: true },
    ]);
    expect(turnsOfProcesses(project.seen())).toEqual([1, before.length]);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });

  test.each([
    ['dies', /did not start: it exited with code 2 when it was started: no such licence/],
    ['silent', /did not start: it did not answer "initialize" in time/],
    ['old', /did not start: it does not support version 1/],
    ['dies at new', /did not start: it exited at "session\/new"/],
    ['silent at new', /did not start: it did not answer "session\/new" in time/],
    ['signed out', /Authentication required/],
    ['dies at session/set_config_option', /did not start: it exited at "session\/set_config_option"/],
    ['dies at session/set_model', /did not start: it exited at "session\/set_model"/],
    ['silent at session/set_model', /did not start: it did not answer "session\/set_model" in time/],
    ['dies at session/set_mode', /did not start: it exited at "session\/set_mode"/],
    ['silent at session/set_mode', /did not start: it did not answer "session\/set_mode" in time/],
    ['refuses session/set_mode', /does not accept the mode "code": Invalid params/],
  ])('fails the iteration if it cannot be prompted: %s', async (boot, message) => {
    const project = createAcpProject({ boots: [boot] }, { mode: 'code' });

    const limits = ['--fail-fast', '--idle-timeout', '3s', '--stop-grace', '200ms'];
    const result = await project.spool(...go, '--model', 'some/model', ...limits);

    expect(result).toMatchObject({ code: 1 });
    expect(project.history()).toMatchObject([{ error: { message: expect.stringMatching(message) } }]);
    expect(project.seen().filter((each) => each.boot)).toHaveLength(1);
    expect(processesWith(`HOME=${project.home}`)).toEqual([]);
  });
});

/** How many turns in a row each process had. */
const turnsOfProcesses = (seen: readonly Record<string, unknown>[]): number[] => {
  const pids = seen.flatMap(({ session }) => (typeof session === 'string' ? [session.split('-')[1]!] : []));
  return [...new Set(pids)].map((pid) => pids.filter((each) => each === pid).length);
};
