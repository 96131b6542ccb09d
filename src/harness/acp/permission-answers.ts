import { asObject, field, listAt, parseObject, textAt } from '../json.ts';
import { typedRule } from '../permissions/remedy.ts';
import type { DeniedRequest } from './log-lines.ts';
import { permissionRequest } from './permission-request.ts';
import { decidePermission, optionFor, type PermissionOutcome, type PermissionPolicy } from '../permissions/decide.ts';
import { toolName } from './tool-calls.ts';

export interface PermissionAnswers {
  /** Answers `session/request_permission`. Requests of other sessions are cancelled. */
  answer(params: unknown): object;
  /**
   * Takes a line of the agent: the input of a tool call is often announced before the permission is requested. Updates of
   * other sessions are ignored.
   */
  observe(line: string): void;
}

export interface PermissionContext {
  readonly policy: PermissionPolicy;
  /** Rules that allow something do not apply to a reviewer. */
  readonly isReview: boolean;
  /** The session that was opened for the turn. */
  readonly session: () => string | null;
  readonly onDenied: (denied: DeniedRequest) => void;
}

/** The most tool calls that are remembered. */
const maxCalls = 1000;

/** Answers what an agent asks permission for, once for each request. */
export const createPermissionAnswers = ({
  policy,
  isReview,
  session,
  onDenied,
}: PermissionContext): PermissionAnswers => {
  const announced = new Map<string, Record<string, unknown>>();
  return {
    observe: (line) => {
      if (!line.startsWith('{') || !line.includes('"toolCallId"')) return;
      const params = field(parseObject(line), 'params');
      if (session() === null || textAt(params, 'sessionId') !== session()) return;
      const update = asObject(field(params, 'update'));
      const id = textAt(update, 'toolCallId');
      if (update === null || id === null) return;
      if (update.status === 'completed' || update.status === 'failed') announced.delete(id);
      else if (announced.has(id) || announced.size < maxCalls) announced.set(id, { ...announced.get(id), ...update });
    },
    answer: (params) => {
      if (session() === null || textAt(params, 'sessionId') !== session()) return { outcome: { outcome: 'cancelled' } };
      const call = field(params, 'toolCall');
      const id = textAt(call, 'toolCallId');
      const known = announced.get(id ?? '') ?? null;
      const request = permissionRequest(call, known, policy.root);
      const decision = decidePermission(request, policy);
      const options = optionsIn(params);
      const outcome = optionFor(decision, options);
      const reason = decision.outcome === 'deny' ? decision.reason : whyNotAllowed(outcome, options);
      if (reason !== null) {
        const tool = toolName({ ...known, title: known?.title ?? request.tool });
        const byRule = decision.outcome === 'allow' || decision.rule === null ? {} : { byRule: true as const };
        const rule = decision.suggestion === null || isReview ? null : typedRule(decision.suggestion);
        const add = rule === null ? {} : { add: rule };
        onDenied({ id, tool, title: request.title, reason, ...byRule, ...add });
      }
      return { outcome };
    },
  };
};

/** Returns why a request that is allowed is cancelled; null if it is not. */
const whyNotAllowed = (
  { outcome }: PermissionOutcome,
  options: readonly { readonly kind: string }[],
): string | null => {
  if (outcome === 'selected') return null;
  return options.some(({ kind }) => kind === 'allow_always')
    ? 'it offers only to allow for ever'
    : 'it offers no option to allow once';
};

/** An option without a kind is never chosen, but another one may have the same id. */
const optionsIn = (params: unknown) =>
  listAt(params, 'options').flatMap((each) => {
    const optionId = textAt(each, 'optionId');
    return optionId === null ? [] : [{ optionId, kind: textAt(each, 'kind') ?? '' }];
  });
