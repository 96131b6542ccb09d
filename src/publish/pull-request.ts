import { userError } from '../errors.ts';
import { askGithub } from '../process/github-cli.ts';
import type { Project } from '../store/project.ts';
import { isObject, parseJson } from '../text/shape.ts';

/** Whose pull requests, and how gh is asked about them. */
export interface GithubRepository {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
  /** `acme/shop`; null if the remote has no such address, and gh has to find it in the project. */
  readonly address: string | null;
  /** An empty folder: gh reads nothing of the project if it knows the address. */
  readonly folder: string;
}

export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly state: 'OPEN' | 'CLOSED' | 'MERGED';
  readonly isDraft: boolean;
  readonly body: string;
  /** The last commit that it has. */
  readonly head: string;
}

/** The latest pull request from a branch of the repository itself; null if there is none. */
export const findPullRequest = async (repository: GithubRepository, branch: string): Promise<PullRequest | null> => {
  const fields = 'number,url,state,isDraft,body,headRefOid,isCrossRepository';
  const args = ['pr', 'list', `--head=${branch}`, '--state=all', '--limit=30', `--json=${fields}`];
  const answer = parseJson(await ask(repository, branch, { args }));
  if (!Array.isArray(answer)) throw userError('no-pull', branch, 'the answer of gh is not a list of pull requests');
  const found = answer.map(pullRequestIn).filter((one) => one !== null);
  return found.find(({ state }) => state === 'OPEN') ?? found.toSorted((a, b) => b.number - a.number)[0] ?? null;
};

const pullRequestIn = (value: unknown): PullRequest | null => {
  if (!isObject(value)) return null;
  const { number, url, state, isDraft, body, headRefOid, isCrossRepository } = value;
  if (typeof number !== 'number' || typeof url !== 'string' || isCrossRepository === true) return null;
  if (!Number.isSafeInteger(number) || (state !== 'OPEN' && state !== 'CLOSED' && state !== 'MERGED')) return null;
  return {
    number,
    url,
    state,
    isDraft: isDraft === true,
    body: typeof body === 'string' ? body : '',
    head: typeof headRefOid === 'string' ? headRefOid : '',
  };
};

export interface NewPullRequest {
  readonly branch: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly isDraft: boolean;
}

/** Returns the address of the new pull request. */
export const createPullRequest = async (
  repository: GithubRepository,
  { branch, base, title, body, isDraft }: NewPullRequest,
): Promise<string> => {
  const args = ['pr', 'create', `--head=${branch}`, `--base=${base}`, `--title=${title}`, '--body-file=-'];
  const stdout = await ask(repository, branch, { args: [...args, ...(isDraft ? ['--draft'] : [])], input: body });
  return stdout.trim().split(/\s+/).at(-1) ?? '';
};

/** Replaces the body, which is all that Spool writes: people may have edited the title. */
export const editPullRequest = async (
  repository: GithubRepository,
  branch: string,
  { number, body }: Pick<PullRequest, 'number' | 'body'>,
): Promise<void> => {
  await ask(repository, branch, { args: ['pr', 'edit', String(number), '--body-file=-'], input: body });
};

export const markReady = async (repository: GithubRepository, branch: string, number: number): Promise<void> => {
  await ask(repository, branch, { args: ['pr', 'ready', String(number)] });
};

const patienceMs = 60_000;
/** Thirty bodies with escapes. */
const maxOutput = 16 * 1024 * 1024;

const ask = async (
  { project, env, stop, address, folder }: GithubRepository,
  branch: string,
  { args, input }: { readonly args: readonly string[]; readonly input?: string },
): Promise<string> => {
  const answer = await askGithub({
    args: [...args, ...(address === null ? [] : [`--repo=${address}`])],
    ...(input !== undefined && { input }),
    cwd: address === null ? project.root : folder,
    project: project.root,
    env,
    stop,
    patienceMs,
    maxOutput,
    needed: 'spool publish',
  });
  if (answer.ok) return answer.stdout;
  const hint = /draft pull requests are not supported/i.test(answer.why) ? '; pass --ready' : '';
  throw userError('no-pull', branch, `${answer.why}${hint}`);
};
