import { textInside } from '../files/inside.ts';
import type { Change } from './source.ts';

/** The issue that a change was created from. */
export interface IssueLink {
  /** `acme/shop`, or `git.example.com/acme/shop` on another host than github.com. */
  readonly repository: string;
  readonly number: number;
  readonly url: string;
}

/** Returns null if the change was not created from an issue. */
export const issueOf = (change: Change, root: string): IssueLink | null => {
  const [, url, host, repository, number] = line.exec(textInside(root, change.proposalFile) ?? '') ?? [];
  if (url === undefined || repository === undefined) return null;
  return { repository: host === 'github.com' ? repository : `${host}/${repository}`, number: Number(number), url };
};

/** As `spool create change --from-issue` writes it below the heading. */
const line = /^# Issue #\d{1,9}\b[^\n]*\n\nIssue: (https:\/\/([\w.-]+)\/([\w.-]+\/[\w.-]+)\/issues\/(\d{1,9}))\n/;
