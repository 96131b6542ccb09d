import { createFolder } from '../files/folders.ts';
import type { Harness } from '../harness/harness.ts';
import type { AgentMode } from '../harness/agent-mode.ts';
import { speaksAcp } from '../harness/modes.ts';
import { type PermissionRules, rulesOf } from '../harness/permissions/rule.ts';
import { untoldRules } from '../harness/permissions/untold-rules.ts';
import type { AgentSession, AgentSessions, OpenSession } from '../harness/session.ts';
import { allowedEnvironment } from '../process/scope.ts';
import { realPath } from '../process/which.ts';
import { modeInRun } from './agent-mode.ts';
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
  | 'cluster'
  | 'tag'
  | 'emit'
>;

export const createSessions = (context: SessionContext, openSession: OpenSession): AgentSessions => {
  const opened = new Map<string, AgentSession>();
  const { options, env, stopSignals, redactor, sandbox, tag, emit } = context;
  const onNotice = (text: string) => emit({ type: 'notice', text });
  const all = rulesOf(options);
  // Everything that is not denied is allowed anyway.
  const rules = context.plan.allowAll ? { ...all, allow: [] } : all;
  const open = (harness: Harness, rules: PermissionRules, { cwd, more, mode }: Opening): AgentSession => {
    const asksSpool = speaksAcp(harness, mode);
    const untold = untoldRules(harness, rules, { root: realPath(cwd), home: env.HOME ?? null, asksSpool });
    if (untold !== null) onNotice(untold);
    const own = context.batch?.isolateAgentData ? harness.launch.isolationEnv?.(dataFolder(context)) : {};
    return openSession(harness, {
      cwd,
      env: { ...allowedEnvironment(env), ...more, ...own },
      stopGraceMs: options.stopGrace,
      stopSignals,
      redactor,
      sandbox,
      rules,
      mode,
      tag,
      onNotice,
    });
  };
  const modeOf = (harness: Harness): AgentMode => {
    const { mode, why } = modeInRun(harness, {
      options,
      isSandboxed: sandbox !== null,
      isWorker: context.cluster !== null,
    });
    if (why !== null) onNotice(`${harness.title} runs in cold mode: ${why}.`);
    return mode;
  };
  return {
    of: (harness) => {
      const session =
        opened.get(harness.name) ??
        open(harness, rules, {
          cwd: context.workProject.root,
          more: gitCeilingEnv(context.workspace),
          mode: modeOf(harness),
        });
      opened.set(harness.name, session);
      return session;
    },
    // It is prompted once, in a folder that is then deleted.
    separate: (harness, { root, env: more }) => open(harness, { ...all, allow: [] }, { cwd: root, more, mode: 'cold' }),
    close: async () => {
      await Promise.all([...opened.values()].map((session) => session.close()));
    },
  };
};

interface Opening {
  readonly cwd: string;
  readonly more: NodeJS.ProcessEnv;
  readonly mode: AgentMode;
}

/** Returns a separate data folder, for agents that would otherwise lock each other out of a shared database. */
const dataFolder = ({ project, plan }: SessionContext): string => {
  const folder = agentDataFolder(project, plan.change);
  createFolder(folder);
  return folder;
};
