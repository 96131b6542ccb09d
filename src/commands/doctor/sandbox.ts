import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Options } from '../../config/flags.ts';
import { runShell } from '../../process/shell.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { Sandbox } from '../../process/sandbox-types.ts';
import { trySandbox } from '../../sandbox/sandbox.ts';
import type { Invocation } from '../registry/command.ts';
import { widenedAccess } from '../../run/sandbox.ts';
import type { StopSignals } from '../../process/signals.ts';
import { type Check, fail, ok, warn } from './check.ts';

export interface SandboxQuestion {
  readonly invocation: Pick<Invocation, 'cwd' | 'env'>;
  readonly options: Pick<Options, 'sandbox' | 'sandboxAllow' | 'sandboxWrite'>;
  readonly stopSignals: Pick<StopSignals, 'stop' | 'kill'>;
  /** Also try to write outside it. */
  readonly probe: boolean;
}

/** Checks that the sandbox starts, in a temporary project. It is a `fail` only with --sandbox. */
export const checkSandbox = async ({ invocation, options, stopSignals, probe }: SandboxQuestion): Promise<Check[]> => {
  const base = mkdtempSync(join(tmpdir(), 'spool-doctor-'));
  const project = join(base, 'project');
  mkdirSync(project);
  const run = `doctor-${process.pid}`;
  const request = {
    root: project,
    ...invocation,
    stop: stopSignals.stop,
    run,
    agents: [],
    ...widenedAccess(options, invocation),
  };
  try {
    const sandbox = await trySandbox(request);
    if ('why' in sandbox) return [(options.sandbox ? fail : warn)('sandbox', `--sandbox: ${sandbox.why}`, sandbox.fix)];
    try {
      const started = ok('sandbox', `${sandbox.description} starts`);
      return probe
        ? [started, await probeSandbox(sandbox, { base, project, run, env: invocation.env, stopSignals })]
        : [started];
    } finally {
      await sandbox.close();
    }
  } finally {
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
};

interface SandboxProbe extends Pick<SandboxQuestion, 'stopSignals'> {
  readonly base: string;
  readonly project: string;
  readonly run: string;
  readonly env: NodeJS.ProcessEnv;
}

const probeSandbox = async (
  sandbox: Sandbox,
  { base, project, run, env, stopSignals }: SandboxProbe,
): Promise<Check> => {
  await runShell({
    command: 'echo inside > inside.txt; echo outside > ../outside.txt',
    cwd: project,
    env,
    tag: `${run}/sandbox-probe`,
    logFile: join(base, 'log'),
    timeoutMs: 60_000,
    stopGraceMs: 1000,
    stopSignals,
    redactor: createRedactor(env),
    sandbox,
  });
  if (existsSync(join(base, 'outside.txt')))
    return fail('sandbox', 'probe: a command wrote outside the project', 'do not rely on it, and report this');
  return existsSync(join(project, 'inside.txt'))
    ? ok('sandbox', 'probe: a command could write to the project but not outside it')
    : fail('sandbox', 'probe: a command could not write to the project', 'report this');
};
