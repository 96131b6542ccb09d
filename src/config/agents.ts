import type { AgentChoice } from '../ralph/plan.ts';
import type { Options } from './flags.ts';

/** Parses `opencode:anthropic/claude-sonnet, claude`. An agent without a model gets that of --model. */
export const agentsOf = ({ harness, model }: Pick<Options, 'harness' | 'model'>): AgentChoice[] =>
  harness.split(',').map((part) => {
    const [name = '', ...own] = part.trim().split(':');
    return { harness: name, model: own.join(':') || model };
  });
