/**
 * Variables by which an agent session identifies itself to its children. An agent that finds them assumes that it runs
 * inside that session, and refuses to start or behaves differently.
 */
const agentSessionVariables = new Set([
  'AGENT',
  'AI_AGENT',
  'CLAUDECODE',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_EXECPATH',
  'CLAUDE_CODE_MESSAGING_SOCKET',
  'CLAUDE_CODE_MESSAGING_TOKEN',
  'CLAUDE_CODE_SESSION_ATTENDED',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_EFFORT',
  'CLAUDE_PID',
  'CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS',
  'CODEX_CI',
  'CODEX_MANAGED_BY_NPM',
  'CODEX_MANAGED_PACKAGE_ROOT',
  'CODEX_SANDBOX',
  'CODEX_SANDBOX_NETWORK_DISABLED',
  'CODEX_SESSION_ID',
  'CODEX_THREAD_ID',
  'CODEX_TOOL_CALL_ID',
  'CODEX_VERSION',
  'COPILOT_AGENT_SESSION_ID',
  'COPILOT_CLI',
  'COPILOT_CLI_BINARY_VERSION',
  'COPILOT_CLI_RESOLVED_DIST_DIR',
  'COPILOT_LOADER_PID',
  'CURSOR_AGENT',
  'CURSOR_TRACE_ID',
  'GEMINI_CLI',
  'GEMINI_CLI_NO_RELAUNCH',
  'OPENCODE',
  'OPENCODE_PID',
  'PI_CODING_AGENT',
  'PI_SKIP_VERSION_CHECK',
  'QWEN_CODE',
  'QWEN_CODE_AGENT_ID',
  'QWEN_CODE_CLI',
  'QWEN_CODE_LAUNCHER_PID',
  'QWEN_CODE_MODEL',
  'QWEN_CODE_MODEL_IDENTITY',
  'QWEN_CODE_NO_RELAUNCH',
  'QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE',
  'QWEN_CODE_PROJECT_DIR',
  'QWEN_CODE_PROMPT_ID',
  'QWEN_CODE_SESSION_ID',
  'QWEN_CODE_STARTUP_VERSION',
]);

/** Contains addresses that agents must not know: anyone who knows one can send messages to it. */
export const notifyVariable = 'SPOOL_NOTIFY';

/** Returns the environment without the variables of an agent session, and without the addresses of notifications. */
export const childEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) =>
        !agentSessionVariables.has(name) && name !== notifyVariable && !name.startsWith('QWEN_CODE_MANAGED_NPM_'),
    ),
  );

/**
 * Returns the environment for a process in `cwd`. Shells and some agents take PWD for the current folder, so it is set to
 * `cwd`. OLDPWD and INIT_CWD are removed.
 */
export const environmentIn = (cwd: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { OLDPWD: _, INIT_CWD: __, ...rest } = env;
  return { ...rest, PWD: cwd };
};
