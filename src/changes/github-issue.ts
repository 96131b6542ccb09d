import { userError } from '../errors.ts';
import { askGithub } from '../process/github-cli.ts';
import { withoutControls } from '../text/controls.ts';
import { joinLines } from '../text/format.ts';
import { isObject, parseJson } from '../text/shape.ts';
import { visibleTextOf } from './visible-text.ts';

/** What a person outside of the project has written. Clean: only what they could see themselves, in lines that end with \n. */
export interface Issue {
  readonly number: number;
  /** One line. */
  readonly title: string;
  readonly body: string;
  readonly url: string;
  readonly isOpen: boolean;
}

export interface IssueQuestion {
  /** The number of an issue of the repository, or the URL of one. */
  readonly issue: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
}

const patienceMs = 15_000;
/** GitHub has a limit of 64 KB. */
const maxBody = 256 * 1024;
/** A body with escapes, and the rest of the answer. */
const maxOutput = 8 * maxBody;

/** Whether a text is the number of an issue or a URL of one. */
export const isIssue = (text: string): boolean =>
  /^#?\d{1,9}$/.test(text) || issueUrl.test(text.replace(/[?#].*$/s, ''));

const issueUrl = /^https:\/\/[\w.-]+(?::\d+)?\/[\w.-]+\/[\w.-]+\/(?:issues|pull)\/\d{1,9}$/;

/** Reads an issue with the GitHub CLI, which is never taken from the project. Throws if it cannot be read. */
export const readIssue = async ({ issue, cwd, env, stop }: IssueQuestion): Promise<Issue> => {
  const answer = await askGithub({
    args: ['issue', 'view', issue.replace(/^#/, ''), '--json', 'number,title,body,url,state'],
    cwd,
    project: cwd,
    env,
    stop,
    patienceMs,
    maxOutput,
    needed: '--from-issue',
  });
  const tooLarge = `it is larger than ${maxBody / 1024} KB`;
  const unreadable = (why: string) => userError('no-issue', issue, why);
  if (!answer.ok) throw unreadable(answer.isTooLong ? tooLarge : answer.why);
  const found = issueIn(answer.stdout);
  if (found === null) throw unreadable('the answer of gh is not an issue');
  if (Buffer.byteLength(found.body) > maxBody) throw unreadable(tooLarge);
  return found;
};

const issueIn = (answer: string): Issue | null => {
  const value = parseJson(answer);
  if (!isObject(value)) return null;
  const { number, title, body, url, state } = value;
  if (typeof number !== 'number' || typeof title !== 'string' || typeof url !== 'string') return null;
  if (!Number.isSafeInteger(number) || !issueUrl.test(url)) return null;
  return {
    number,
    title: joinLines(cleanText(title)).trim(),
    body: typeof body === 'string' ? visibleTextOf(cleanText(body)).trim() : '',
    url,
    isOpen: state === 'OPEN',
  };
};

/** Removes what is invisible: control characters and characters without a shape. Every kind of line end becomes \n. */
const cleanText = (text: string): string =>
  withoutControls(text.replaceAll(/\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g, '\n')).replaceAll(invisible, '');

/** Zero-width characters, except those that join emoji, and tags, which spell out text that is not shown. */
const invisible = /[\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e0fff}]/gu;
