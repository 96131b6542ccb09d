import { join } from 'node:path/posix';
import { textInside } from '../../files/inside.ts';
import { diffText } from '../../git/diff-text.ts';
import { diffTrees, type FileDiff } from '../../git/diff.ts';
import type { CommitStore } from '../../git/commit-store.ts';
import { toUtf8 } from '../../git/paths.ts';
import type { PromptDocument } from '../../ralph/prompt.ts';
import { describeProof } from '../../ralph/proof-text.ts';
import type { GateRun } from '../../ralph/record.ts';
import type { Difference, EarlierReview, ReviewMaterial } from '../../ralph/review-prompt.ts';
import { readLedger } from '../../store/user-state/ledger.ts';
import { createAssignmentReader } from '../assignment.ts';
import type { RunContext } from '../context.ts';
import type { Reviewed, ReviewCopy } from './copy.ts';

type MaterialContext = Parameters<typeof createAssignmentReader>[0] &
  Pick<RunContext, 'plan' | 'view' | 'redactor' | 'target' | 'project' | 'env'>;

interface MaterialRequest extends Reviewed {
  readonly copy: Pick<ReviewCopy, 'root' | 'restored'>;
  readonly iteration: number;
  readonly runs: readonly GateRun[];
  /** The gate has said something about the scenarios. */
  readonly hasProof: boolean;
}

/** Collects what a reviewer is told. Secrets are redacted, as the prompt is saved. */
export const collectMaterial = async (context: MaterialContext, request: MaterialRequest): Promise<ReviewMaterial> => {
  const { plan, view, redactor, project, env } = context;
  const { iteration, commit, base, runs, hasProof, copy } = request;
  const { proposal, module, documents, userPrompt } = await createAssignmentReader(context)();
  return redactor.data({
    change: plan.change,
    iteration,
    own: plan.gate.review?.prompt ?? null,
    proposal,
    module,
    documents: [...documents, ...specsOf(context, documents)],
    userPrompt,
    runs,
    proof: hasProof ? describeProof(readLedger({ project, change: plan.change, env })?.scenarios ?? []) : null,
    difference: await differenceOf(copy, [base, commit]),
    earlier: await earlierReview(copy, view().reviews?.last ?? null, commit),
    restored: copy.restored,
  });
};

/** In characters. */
const maxSpec = 64 * 1024;
const maxSpecs = 192 * 1024;

/** The specs of the change, unless the prompt has them already. */
const specsOf = (
  { target, project }: Pick<RunContext, 'target' | 'project'>,
  known: readonly PromptDocument[],
): PromptDocument[] => {
  let left = maxSpecs;
  return target
    .files(project.root)
    .filter(({ kind }) => kind === 'spec')
    .flatMap(({ name }) => {
      const path = join(target.folder, name);
      const text = textInside(project.root, path);
      if (text === null || known.some((document) => document.text.trim() === text.trim())) return [];
      const fits = text.length <= Math.min(maxSpec, left);
      if (fits) left -= text.length;
      return [{ title: path, text: fits ? text : `Too long to be included here: read \`${path}\`.` }];
    });
};

const maxFiles = 200;
const maxDifference = 64 * 1024;

/** In the repository of the copy, where the agent has set no attributes that would hide lines. */
const differenceOf = async (copy: CommitStore, range: readonly [string, string]): Promise<Difference> => {
  const files = (await diffTrees(copy, range, { renames: true })) ?? [];
  return {
    files: files.slice(0, maxFiles).map(describeFile),
    filesLeftOut: Math.max(0, files.length - maxFiles),
    text: files.length > maxFiles ? null : await diffText(copy, range, maxDifference),
  };
};

const letters: Readonly<Record<FileDiff['status'], string>> = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R' };

/** `M src/a.ts (+3 -1)` */
const describeFile = ({ status, name, from, insertions, deletions, binary }: FileDiff): string => {
  const path = from === null ? toUtf8(name) : `${toUtf8(from)} → ${toUtf8(name)}`;
  return `${letters[status]} ${path} (${binary ? 'binary' : `+${insertions} -${deletions}`})`;
};

const earlierReview = async (
  copy: CommitStore,
  last: Omit<EarlierReview, 'since'> | null,
  commit: string,
): Promise<EarlierReview | null> => {
  if (last === null) return null;
  const files = last.checkpoint === null ? null : await diffTrees(copy, [last.checkpoint, commit], { renames: true });
  return { ...last, since: files && files.slice(0, maxFiles).map(describeFile) };
};
