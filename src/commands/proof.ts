import { resolve } from 'node:path';
import { resolveAnyChange } from '../changes/sources.ts';
import { atPath, userError } from '../errors.ts';
import { replaceSafely } from '../files/safe.ts';
import { canvasOf } from '../report/canvas.ts';
import { say } from '../report/message.ts';
import { readProof } from '../report/proof/read.ts';
import { isProven } from '../ralph/proof-rows.ts';
import type { ProofReport } from '../report/proof/report.ts';
import { createRedactor } from '../secrets/redact.ts';
import { findProject } from '../store/project.ts';
import { safeJson, withoutControls } from '../text/controls.ts';
import type { Invocation } from './registry/command.ts';
import { findSentRun } from './with-queue/sent-run.ts';

/** The exit code if a scenario is not proven, or if there is none. */
const notProven = 1;

export const run = async (invocation: Invocation): Promise<number> => {
  const { args, rawFlags, cwd, env, terminal } = invocation;
  const format = formatOf(invocation);
  const project = findProject(cwd);
  const away = await findSentRun(invocation, project);
  const change = away?.change ?? (await resolveAnyChange(project, args[0]!));
  const found = await readProof({ project, change, env }, away?.sent);
  const report = createRedactor(env).after(withoutControls).data(found);
  const text = await render(report, format, invocation);
  if (rawFlags.output === undefined) terminal.print(text);
  else {
    const file = String(rawFlags.output);
    write(resolve(cwd, file), text);
    say(terminal, `Wrote ${file}.`);
  }
  return isProven(report.count) ? 0 : notProven;
};

const write = (path: string, text: string): void => {
  try {
    replaceSafely(path, text);
  } catch (error) {
    atPath(path)(error);
  }
};

const formats = ['json', 'markdown', 'html'] as const;

type Format = (typeof formats)[number] | 'table';

const formatOf = ({ rawFlags }: Invocation): Format => {
  const [first, second] = formats.filter((name) => rawFlags[name] === true);
  if (second !== undefined) throw userError('two-actions', `--${first}`, `--${second}`);
  return first ?? 'table';
};

/** Loads only the renderer that is used. */
const render = async (report: ProofReport, format: Format, { rawFlags, terminal }: Invocation): Promise<string> => {
  switch (format) {
    case 'json':
      return `${safeJson((await import('../report/proof/json.ts')).proofJson(report), 2)}\n`;
    case 'markdown':
      return (await import('../report/proof/markdown.ts')).proofMarkdown(report);
    case 'html':
      return (await import('../report/proof/html.ts')).proofHtml(report, new Date());
    case 'table': {
      const { renderProof } = await import('../report/proof/table.ts');
      const { symbols } = terminal;
      const canvas =
        rawFlags.output === undefined
          ? canvasOf(terminal)
          : { style: (_: unknown, text: string) => text, columns: Infinity, symbols };
      return `${renderProof(report, canvas, new Date()).join('\n')}\n`;
    }
  }
};
