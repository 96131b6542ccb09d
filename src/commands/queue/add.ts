import { hostname } from 'node:os';
import { claimsOf } from '../../changes/requirements.ts';
import { changeOf, checkFiles, listChanges, resolveChange } from '../../changes/sources.ts';
import { labelsOf } from '../../cluster/labels.ts';
import { addToQueue, type Added, type NewEntry } from '../../cluster/queue.ts';
import { queueSettingNames } from '../../cluster/queue-settings.ts';
import type { Change } from '../../changes/source.ts';
import { parseFlags } from '../../config/resolve.ts';
import { userError } from '../../errors.ts';
import { publishedBase } from '../../git/published-base.ts';
import { prefixOf } from '../../git/repository.ts';
import { answer, say } from '../../report/message.ts';
import { findProject, type Project } from '../../store/project.ts';
import { safeJson } from '../../text/controls.ts';
import { commandLine } from '../../text/shell-words.ts';
import type { Invocation } from '../registry/command.ts';
import { repositoryAt, senderOf, withQueue } from '../with-queue/queue.ts';

/** Queues changes that the remote has. Nothing is sent that a worker would execute. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { rawFlags, cwd, env, terminal } = invocation;
  const project = findProject(cwd);
  const settings = settingsIn(invocation);
  // Throws for a wrong value before anything is sent.
  const { maxCost } = parseFlags(settings);
  const targets = await targetsOf(project, invocation);
  const { project: key } = await repositoryAt(project.root, invocation);
  const base = await baseOf(project, targets, invocation);
  const folder = (await prefixOf(project.root)).replace(/\/$/, '');
  const entries = targets.map((target): NewEntry => ({
    project: key,
    id: target.id,
    priority: numberOf(rawFlags.priority, '--priority'),
    labels: neededLabels(rawFlags.label),
    requirements: [...claimsOf(target, project.root).keys()],
    request: {
      v: 1,
      prompt: typeof rawFlags.prompt === 'string' ? rawFlags.prompt : '',
      source: target.source,
      base,
      folder,
      settings,
      fresh: rawFlags.fresh === true,
    },
  }));
  const added = await withQueue(invocation, 'spool queue add', (database) =>
    addToQueue(database, entries, {
      by: senderOf(env, hostname()),
      maxCostUsd: typeof maxCost === 'number' && Number.isFinite(maxCost) ? maxCost : null,
    }),
  );
  const refused = added.filter((each) => each.refused !== null);
  if (rawFlags.json)
    terminal.printResult(
      `${safeJson(added.map(({ id, refused: was }) => ({ change: id, queued: was === null, state: was?.state ?? 'queued' })))}\n`,
    );
  else {
    for (const each of refused) say(terminal, refusalText(each));
    const queued = added.filter((each) => each.refused === null).map(({ id }) => id);
    if (queued.length > 0) answer(terminal, `Queued ${queued.join(', ')}. Follow with: spool queue list`);
  }
  return refused.length === added.length ? 2 : 0;
};

const refusalText = ({ id, refused }: Added): string => {
  const where = refused?.host ? ` on ${refused.host}` : '';
  const fix = refused?.state === 'paused' ? ` Resume it with: ${commandLine('spool', 'resume', id)}` : '';
  return `${id} is already ${refused?.state}${where}.${fix}`;
};

const settingsIn = ({ rawFlags }: Invocation): Record<string, string | boolean> =>
  Object.fromEntries(
    queueSettingNames.flatMap((name) => {
      const value = rawFlags[name];
      return value === undefined || Array.isArray(value) ? [] : [[name, value as string | boolean]];
    }),
  );

const targetsOf = async (project: Project, { args, rawFlags }: Invocation): Promise<Change[]> => {
  if (rawFlags.all === true && args.length > 0) throw userError('two-actions', '--all', 'a change');
  const all = rawFlags.all === true ? await listChanges(project) : [];
  const ids = rawFlags.all === true ? all : await Promise.all(args.map((query) => resolveChange(project, query)));
  if (ids.length === 0) throw userError('change-required', await listChanges(project), false);
  const targets = await Promise.all([...new Set(ids)].map((id) => changeOf(project, id)));
  for (const target of targets) checkFiles(project, target);
  return targets;
};

/** Throws if a worker would not see what the user sees. */
const baseOf = async (project: Project, targets: readonly Change[], { rawFlags }: Invocation) => {
  const remote = typeof rawFlags.remote === 'string' ? rawFlags.remote : 'origin';
  const paths = targets.map(({ folder }) => folder);
  const base = await publishedBase(project.root, remote, paths);
  if ('why' in base) throw userError('not-pushed', base.why, base.fix);
  return base;
};

const numberOf = (value: unknown, flag: string): number => {
  if (value === undefined) return 0;
  if (typeof value !== 'string' || !/^-?\d{1,9}$/.test(value))
    throw userError('bad-value', flag, 'must be a whole number', String(value));
  return Number(value);
};

const neededLabels = (value: unknown): string[] => {
  const labels = labelsOf(value);
  if (labels.length > maxLabels)
    throw userError('bad-value', '--label', `can be given ${maxLabels} times at most`, `${labels.length} labels`);
  return labels;
};

/** More do not fit into the index by which workers find a change. */
const maxLabels = 12;
