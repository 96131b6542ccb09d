import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { root } from './project.ts';

export interface Step {
  readonly name?: string;
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
  readonly run?: string;
  readonly shell?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly 'working-directory'?: string;
}

export interface Action {
  readonly name: string;
  readonly description: string;
  readonly inputs: Readonly<Record<string, { description: string; required?: boolean; default?: string }>>;
  readonly outputs: Readonly<Record<string, { description: string; value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

export const readAction = (): Action => load(readFileSync(join(root, 'action.yml'), 'utf8')) as Action;

export interface JobOptions {
  readonly inputs: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The folder of temporary files of the runner. Caches are what is in it. */
  readonly temp: string;
  /** Called with each process. */
  readonly started?: (step: Step, child: ChildProcess) => void;
}

export interface JobResult {
  readonly outputs: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly codes: Readonly<Record<string, number | null>>;
  readonly output: string;
  /** What is in the summary of the job. */
  readonly summary: string;
}

/** Runs the scripts of the action as a runner does: those of steps, with the variables that it sets. */
export const runJob = async ({ inputs: given, cwd, env, temp, started }: JobOptions): Promise<JobResult> => {
  const { inputs, runs } = readAction();
  const files = mkdtempSync(join(temp, 'job-'));
  const values: Record<string, string> = {
    ...Object.fromEntries(Object.entries(inputs).map(([name, input]) => [`inputs.${name}`, input.default ?? ''])),
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [`inputs.${name}`, value])),
  };
  const outputs: Record<string, Record<string, string>> = {};
  const codes: Record<string, number | null> = {};
  const summary = join(files, 'summary');
  let output = '';
  for (const step of runs.steps) {
    if (
      step.run === undefined ||
      !isDue(
        step,
        values,
        Object.values(codes).some((code) => code !== 0),
      )
    )
      continue;
    const [script, result] = [join(files, `${step.name}.sh`), join(files, `${step.name}.out`)];
    writeFileSync(script, step.run);
    const child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', script], {
      cwd: join(cwd, expand(step['working-directory'] ?? '.', values)),
      env: {
        ...env,
        CI: 'true',
        GITHUB_ACTIONS: 'true',
        GITHUB_ACTION_PATH: root,
        GITHUB_OUTPUT: result,
        GITHUB_STEP_SUMMARY: summary,
        RUNNER_TEMP: temp,
        ...Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, expand(value, values)])),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    started?.(step, child);
    codes[step.name!] = await new Promise<number | null>((resolve) => child.on('close', resolve));
    const lines = existsSync(result) ? readFileSync(result, 'utf8').trim().split('\n').filter(Boolean) : [];
    const own = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
    if (step.id === undefined) continue;
    values[`steps.${step.id}.outcome`] = codes[step.name!] === 0 ? 'success' : 'failure';
    outputs[step.id] = own;
    for (const [name, value] of Object.entries(own)) values[`steps.${step.id}.outputs.${name}`] = value;
  }
  return { outputs, codes, output, summary: existsSync(summary) ? readFileSync(summary, 'utf8') : '' };
};

/** Whether a runner runs a step, by a condition such as `always() && inputs.run == 'true'`. */
const isDue = (step: Step, values: Readonly<Record<string, string>>, hasFailed: boolean): boolean => {
  const terms = (step.if ?? '')
    .replaceAll(/^\$\{\{|\}\}$/g, '')
    .split('&&')
    .map((term) => term.trim())
    .filter(Boolean);
  if (hasFailed && !terms.includes('always()')) return false;
  return terms.every((term) => {
    const [, name, value] = /^([\w.-]+) == '([^']*)'$/.exec(term) ?? [];
    if (name === undefined && term !== 'always()') throw new Error(`unknown condition: ${term}`);
    return name === undefined || (values[name] ?? '') === value;
  });
};

/** Replaces `${{ inputs.change }}` and the like. Throws if a value is not known. */
const expand = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the action uses ${name}, which no step has set`);
    return value;
  });
