import { speaksAcp } from './modes.ts';
import type { AgentSession, OpenSession } from './session.ts';
import { openSpawned } from './spawned.ts';

/** Opens a session with an agent CLI, in the mode that the scope names. */
export const openSession: OpenSession = (harness, scope) =>
  speaksAcp(harness, scope.mode) ? openLater(harness, scope) : openSpawned(harness, scope);

/** The protocol is loaded when it is used. */
const openLater: OpenSession = (harness, scope) => {
  let opened: Promise<AgentSession> | null = null;
  return {
    prompt: async (turn, observer) => {
      opened ??= import('./acp/session.ts').then(({ openAcp }) => openAcp(harness, scope));
      return (await opened).prompt(turn, observer);
    },
    close: async () => (await opened)?.close(),
  };
};
