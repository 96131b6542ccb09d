import { runSpool } from '../../process/run-spool.ts';
import { isObject } from '../../text/shape.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { Action, ActionPreview, ActionResult, Row } from '../api.ts';
import { badRequest, notFound, Refused } from '../http/refusal.ts';
import type { Subject } from '../read/subject.ts';
import { isDangerous, readAction } from './action.ts';
import { type Call, callOf, dryRunOf } from './arguments.ts';
import { createConfirmations } from './confirmations.ts';
import { describe } from './describe.ts';
import { createConcurrency } from './concurrency.ts';

export interface Actions {
  /** `gone` aborts when the page does not wait for the preview any more. */
  preview(body: unknown, gone: AbortSignal): Promise<ActionPreview>;
  act(body: unknown): Promise<ActionResult>;
  /** Ends what is running. */
  close(): void;
}

export interface ActionsOptions extends Subject {
  readonly readOnly: boolean;
  readonly rowOf: (change: string) => Promise<Row | null>;
  /** Called when something may have changed. */
  readonly onDone: () => void;
}

/** Steers runs with Spool's own commands, so that the page can do what they do and nothing else. */
export const createActions = (options: ActionsOptions): Actions => {
  const { project, env, redactor, readOnly, rowOf, onDone } = options;
  const confirmations = createConfirmations();
  const stop = new AbortController();
  const concurrency = createConcurrency();

  const run = async ({ args, timeoutMs }: Call, gone?: AbortSignal) => {
    const { exitCode, output, isTimedOut } = await runSpool({
      args,
      cwd: project.root,
      env: { ...env, NO_COLOR: '1' },
      timeoutMs,
      stop: AbortSignal.any(gone === undefined ? [stop.signal] : [stop.signal, gone]),
    });
    const late = isTimedOut ? '\nIt took too long and was stopped.' : '';
    return { exitCode, output: redactor.text(`${output.trim()}${late}`) };
  };
  const read = async (body: unknown): Promise<{ readonly action: Action; readonly row: Row }> => {
    if (readOnly) throw new Refused({ status: 403, code: 'read-only', message: 'This server is read-only.' });
    const action = readAction(isObject(body) ? body.action : undefined);
    const row = await rowOf(action.change);
    if (row === null) throw notFound('There is no such change.');
    return { action, row };
  };

  return {
    preview: async (body, gone) => {
      const { action, row } = await read(body);
      const dryRun = dryRunOf(action);
      const result = dryRun === null ? null : await concurrency.dryRun(action, () => run(dryRun, gone));
      const isPossible = result === null || result.exitCode === 0;
      const confirmation = isPossible ? confirmations.issue(action, row) : null;
      return {
        lines: describe(action, row),
        output: result?.output ?? '',
        command: commandText(action),
        token: confirmation?.token ?? null,
        expiresAt: confirmation?.expiresAt ?? null,
      };
    },
    act: async (body) => {
      const { action, row } = await read(body);
      const token = isObject(body) ? body.token : undefined;
      if (token !== undefined && typeof token !== 'string') throw badRequest('"token" is not valid.');
      if (isDangerous(action) && !confirmations.redeem(token ?? '', action, row))
        throw new Refused({
          status: 409,
          code: 'not-confirmed',
          message: 'This needs a preview first, or the run has changed since the preview.',
        });
      const { exitCode, output } = await concurrency.alone(action, () => run(callOf(action)).finally(onDone));
      return { ok: exitCode === 0, exitCode, output, command: commandText(action) };
    },
    close: () => stop.abort(),
  };
};

const commandText = (action: Action): string => commandLine('spool', ...callOf(action).args);
