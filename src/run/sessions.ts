import { createFolder } from '../files/folders.ts';
import type { Harness } from '../harness/harness.ts';
import type { AgentSession, AgentSessions, OpenSession } from '../harness/session.ts';
import { allowedEnvironment } from '../process/scope.ts';
import { gitCeilingEnv, type RunContext } from './context.ts';
import { agentDataFolder } from '../store/paths.ts';

type SessionContext = Pick<
  RunContext,
  | 'project'
  | 'plan'
  | 'options'
  | 'workProject'
  | 'workspace'
  | 'env'
  | 'stopSignals'
  | 'redactor'
  | 'sandbox'
  | 'batch'
>;

export const createSessions = (context: SessionContext, openSession: OpenSession): AgentSessions => {
  const opened = new Map<string, AgentSession>();
  const open = (harness: Harness, cwd: string, more: NodeJS.ProcessEnv): AgentSession => {
    const { options, env, stopSignals, redactor, sandbox } = context;
    const own = context.batch?.isolateAgentData ? harness.launch.isolationEnv?.(dataFolder(context)) : {};
    return openSession(harness, {
      cwd,
      env: { ...allowedEnvironment(env), ...more, ...own },
      stopGraceMs: options.stopGrace,
      stopSignals,
      redactor,
      sandbox,
    });
  };
  return {
    of: (harness) => {
      const session =
        opened.get(harness.name) ?? open(harness, context.workProject.root, gitCeilingEnv(context.workspace));
      opened.set(harness.name, session);
      return session;
    },
    separate: (harness, { root, env }) => open(harness, root, env),
    close: async () => {
      await Promise.all([...opened.values()].map((session) => session.close()));
    },
  };
};

/** Returns a separate data folder, for agents that would otherwise lock each other out of a shared database. */
const dataFolder = ({ project, plan }: SessionContext): string => {
  const folder = agentDataFolder(project, plan.change);
  createFolder(folder);
  return folder;
};
