import { isName } from '../text/names.ts';
import { boolean, isObject, matching, object, oneOf, required, shape, text } from '../text/shape.ts';
import type { Claim, QueueRequest } from './change-row.ts';

/*
 * Anyone with write access to the database can queue anything. A worker makes folders, branches and a project of what a
 * row contains, so nothing in it may lead out of the clone, or be taken for an option by git.
 */

/** Returns why a worker does not run a change as it was queued; null if it does. */
export const whyUnusable = ({ id, request }: Pick<Claim, 'id' | 'request'>): string | null => {
  if (!isChangeName(id)) return 'its ID is not one of a change';
  const parsed = parseRequest(request);
  if (parsed === undefined) return 'its request in the queue is not valid';
  if (!isBranchName(parsed.base.branch)) return 'its base in the queue is not a branch';
  return isFolderBelow(parsed.folder) ? null : 'its folder in the queue is not one of a repository';
};

type Settings = QueueRequest['settings'];

const parseSettings = shape<Settings>(
  (value) =>
    isObject(value) && Object.values(value).every((each) => typeof each === 'string' || typeof each === 'boolean')
      ? (value as Settings)
      : undefined,
  { type: 'object' },
);

const parseRequest = object<QueueRequest>({
  v: required(oneOf([1])),
  prompt: required(text),
  source: required(text),
  base: required(
    object<QueueRequest['base']>({ branch: required(text), commit: required(matching(/^[\da-f]{40,64}$/)) }),
  ),
  folder: required(text),
  settings: required(parseSettings),
  fresh: required(boolean),
});

/** The name of one folder, which is not hidden. No source has changes with other names. */
const isChangeName = (name: string): boolean => isName(name) && !name.startsWith('.') && !/[/\\]/.test(name);

const isBranchName = (name: string): boolean =>
  isName(name) &&
  !/[\s~^:?*[\\]|\.\.|@\{|\/\/|^\/|[/.]$/.test(name) &&
  name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));

/** Empty for the repository itself. */
const isFolderBelow = (folder: string): boolean =>
  folder === '' || folder.split('/').every((name) => !/^(?:|\.|\.\.|\.git)$|[\\\0]/i.test(name));
