/**
 * What an agent session tells its children about itself. An agent that finds it thinks that it runs inside that
 * session, and refuses to start, or behaves differently.
 */
const ofSurroundingSession = new Set([
  'AGENT',
  'AI_AGENT',
  'CLAUDECODE',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_MESSAGING_SOCKET',
  'CLAUDE_CODE_MESSAGING_TOKEN',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_PID',
  'CODEX_CI',
  'CODEX_SESSION_ID',
  'CODEX_THREAD_ID',
  'COPILOT_AGENT_SESSION_ID',
  'COPILOT_CLI',
  'COPILOT_LOADER_PID',
  'GEMINI_CLI_NO_RELAUNCH',
  'OPENCODE_PID',
  'PI_CODING_AGENT',
  'QWEN_CODE_AGENT_ID',
  'QWEN_CODE_NO_RELAUNCH',
  'QWEN_CODE_SESSION_ID',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SSE_PORT',
  'CODEX_SANDBOX',
  'CODEX_SANDBOX_NETWORK_DISABLED',
  'CURSOR_AGENT',
  'CURSOR_TRACE_ID',
  'GEMINI_CLI',
  'OPENCODE',
  'QWEN_CODE',
]);

/** The user's environment, as it would be outside of any agent session. */
export const childEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !ofSurroundingSession.has(name)));
