import type { AgentSwitch } from '../ralph/record.ts';
import type { RunView } from '../ralph/view.ts';
import { oneLine } from './shorten.ts';

/** `Switching to claude:opus (rung 2 of 2): 2 iterations in a row were rejected.` */
export const switchText = (switched: AgentSwitch, view: RunView): string =>
  `${switched.rung === 1 ? 'Back' : 'Switching'} to ${rungText(switched, view)}: ${oneLine(switched.why)}.`;

/** `claude:opus (rung 2 of 2) since iteration 3: 2 iterations in a row were rejected`; empty without a switch. */
export const rungFact = (view: RunView): string => {
  const { switched } = view;
  if (!view.ladder || switched === undefined) return '';
  return `${rungText(switched, view)} since iteration ${switched.iteration}: ${oneLine(switched.why)}`;
};

const rungText = ({ to, rung }: AgentSwitch, { agents }: RunView): string =>
  `${oneLine(to)} (rung ${rung} of ${agents.length})`;
