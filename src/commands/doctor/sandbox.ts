import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Options } from '../../config/flags.ts';
import { runShell } from '../../process/shell.ts';
import { createRedactor } from '../../secrets/redact.ts';
import type { Sandbox } from '../../process/sandbox.ts';
import { trySandbox } from '../../sandbox/sandbox.ts';
import type { Invocation } from '../command.ts';
import { widenedBy } from '../../run/sandbox.ts';
import type { StopSignals } from '../../process/signals.ts';
import { type Check, fail, ok, warn } from './check.ts';

export interface SandboxQuestion {
  readonly call: Pick<Invocation, 'cwd' | 'env'>;
  readonly options: Pick<Options, 'sandbox' | 'sandboxAllow' | 'sandboxWrite'>;
  readonly stopSignals: Pick<StopSignals, 'stop' | 'kill'>;
  /** Also try to get out of it. */
  readonly probe: boolean;
}

/** Does it start, in a project of its own. That it cannot be used matters only to who asks for it. */
export const checkSandbox = async ({ call, options, stopSignals, probe }: SandboxQuestion): Promise<Check[]> => {
  const base = mkdtempSync(join(tmpdir(), 'spool-doctor-'));
  const project = join(base, 'project');
  mkdirSync(project);
  const run = `doctor-${process.pid}`;
  const asked = { root: project, ...call, stop: stopSignals.stop, run, agents: [], ...widenedBy(options, call) };
  try {
    const sandbox = await trySandbox(asked);
    if ('why' in sandbox) return [(options.sandbox ? fail : warn)('sandbox', `--sandbox: ${sandbox.why}`, sandbox.fix)];
    try {
      const started = ok('sandbox', `${sandbox.about} starts`);
      return probe
        ? [started, await probeSandbox(sandbox, { base, project, run, env: call.env, stopSignals })]
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
    return fail('sandbox', 'probe: a command inside wrote outside of the project', 'do not rely on it; report this');
  return existsSync(join(project, 'inside.txt'))
    ? ok('sandbox', 'probe: a command inside wrote to the project, and could not write outside of it')
    : fail('sandbox', 'probe: a command inside could not write to the project', 'report this');
};
