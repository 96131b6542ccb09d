import { relative } from 'node:path';
import { findHarness } from '../../harness/registry.ts';
import { capabilitiesIn, defaultModeOf } from '../../harness/modes.ts';
import { createJsonReporter } from '../../report/json.ts';
import { createLiveReporter, type LiveOptions } from '../../report/live.ts';
import { type Display, forTerminal, redacted } from '../../report/display.ts';
import { canvasOf } from '../../report/canvas.ts';
import { factsOf } from '../../report/run-facts.ts';
import { lastIterations } from '../../report/shown-iterations.ts';
import { renderRun } from '../../report/render-run.ts';
import type { Terminal } from '../../report/terminal.ts';
import type { RunView } from '../../ralph/view.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { runFolder } from '../../store/paths.ts';
import type { Project } from '../../store/project.ts';
import type { Invocation } from '../registry/command.ts';

interface RecordedDisplay extends Pick<Invocation, 'cwd' | 'env'> {
  readonly project: Project;
  readonly terminal: Terminal;
  readonly json?: boolean;
  readonly verbose?: boolean;
  /** It is over, so there is no status line. */
  readonly isReplay?: boolean;
}

/** The display of a run that another process has run, or runs now: the same as there. */
export const displayRecorded = ({
  project,
  terminal,
  cwd,
  env,
  json = false,
  verbose = false,
  isReplay = false,
}: RecordedDisplay): Display => {
  const redactor = createRedactor(env);
  if (json) return redacted(createJsonReporter(terminal), redactor);
  const folderOf: LiveOptions['folderOf'] = ({ change, run }) => relative(cwd, runFolder(project, change, run)) || '.';
  const options: LiveOptions = {
    stream: true,
    verbose,
    isReplay,
    findHarness: harnessOrName,
    folderOf,
    recordsOf: (view) => lastIterations(project, view),
    sandboxAllow: [],
    sandboxWrite: [],
  };
  return forTerminal(createLiveReporter(terminal, options), redactor);
};

/** Without the end of the run, after which other commands come next on another machine. */
export const withoutEnd = (display: Display): Display => ({
  ...display,
  onEvent: (event, view) => {
    if (event.type !== 'run-ended') display.onEvent(event, view);
  },
});

/** The end of a run whose process is gone, which has left no event about it: what `spool status` shows. */
export const renderGone = async (
  view: RunView,
  { project, terminal, env }: Pick<RecordedDisplay, 'project' | 'terminal' | 'env'>,
): Promise<string[]> => {
  const { shown, facts } = await factsOf(view, { project, env, alive: false, now: new Date() });
  const records = lastIterations(project, view);
  return renderRun(shown, { ...facts, records, alive: false, table: true }, canvasOf(terminal));
};

/** The config file may have changed since, so an agent that is declared there is shown by its name. */
const harnessOrName: LiveOptions['findHarness'] = (name) => {
  try {
    const harness = findHarness(name, []);
    // A run does not record its mode; the default is the most likely.
    return { ...harness, capabilities: capabilitiesIn(harness, defaultModeOf(harness)) };
  } catch {
    return { title: name, capabilities: [] };
  }
};
