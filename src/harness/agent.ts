import type { AgentEvent, Ended } from '../ralph/events.ts';
import { createEventStream } from './decode.ts';
import { createDiagnosis } from './diagnosis.ts';
import { childEnvironment } from './environment.ts';
import type { Harness, Job } from './harness.ts';
import { onPath } from './index.ts';
import { runProcess, type Watch } from './run.ts';
import { cachedVersion } from './version.ts';

export interface AgentRun {
  readonly harness: Harness;
  readonly job: Omit<Job, 'root' | 'version'>;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly tag: string;
  readonly logFile: string;
  readonly stopGraceMs: number;
  readonly stops: Pick<Watch, 'stop' | 'kill'>;
}

export interface AgentWatch {
  see(event: AgentEvent): void;
  /** The next output is read when this has resolved. */
  drained?(): Promise<void>;
}

/** Runs an agent once, from its prompt to its last event. */
export const runAgent = async (run: AgentRun, watch: AgentWatch): Promise<Ended> => {
  const { harness, job, env, stops } = run;
  const binary = onPath(harness.binary, env.PATH ?? '') ?? harness.binary;
  const cleanEnv = childEnvironment(env);
  const version = harness.versioned && job.allowAll ? await cachedVersion(binary, cleanEnv) : null;
  const diagnosis = createDiagnosis(harness, job.allowAll, (event) => watch.see(event));
  const events = createEventStream(harness.decoder(harness.title), (event) => diagnosis.see(event));
  const ended = await runProcess(
    {
      ...run,
      binary,
      args: harness.args({ ...job, version, root: process.getuid?.() === 0 }),
      env: cleanEnv,
      prompt: harness.prompt === undefined ? job.prompt : '',
    },
    {
      output: async (source, chunk) => {
        events.write(source, chunk);
        await watch.drained?.();
      },
      ...stops,
    },
  );
  events.end();
  diagnosis.end(ended);
  return ended;
};
