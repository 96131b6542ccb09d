import type { IssueLink } from '../../changes/issue-link.ts';
import { markdownText } from '../../text/markdown.ts';
import { oneLine } from '../shorten.ts';
import { fitting, proofSections, runSections } from './markdown.ts';
import type { ProofReport } from './report.ts';

export interface PullRequestFacts {
  /** The first paragraphs of the proposal. */
  readonly summary: readonly string[];
  /** What merging it closes; null for nothing. */
  readonly issue: IssueLink | null;
  /** The repository of the pull request, such as `acme/shop`; null if it is not known. */
  readonly repository: string | null;
}

/** The body of a pull request: what the change is, what proves it, and what the run did. */
export const pullRequestBody = (
  report: ProofReport,
  { summary, issue, repository }: PullRequestFacts,
  maxLength?: number,
): string =>
  fitting((limits) => {
    const run = runSections(report, limits);
    return [
      ...summary.map((paragraph) => markdownText(oneLine(paragraph, maxParagraph))),
      ...(issue === null ? [] : [closes(issue, repository)]),
      '## Proof',
      ...proofSections(report, limits),
      ...(run.length === 0 ? [] : ['## Run', ...run]),
      `<sub>Change ${markdownText(report.change)}, published by spool publish.</sub>`,
    ];
  }, maxLength);

const maxParagraph = 600;

/** A reference that GitHub understands in the repository of the pull request. */
const closes = ({ repository, number, url }: IssueLink, own: string | null): string => {
  if (own === repository) return `Closes #${number}`;
  return `Closes ${repository.split('/').length === 2 ? `${repository}#${number}` : url}`;
};

/** The title of a pull request, in one line. */
export const pullRequestTitle = ({ title, change }: Pick<ProofReport, 'title' | 'change'>): string =>
  oneLine(title ?? change, 200).trim() || change;
