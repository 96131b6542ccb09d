/**
 * What an agent session tells its children about itself. An agent that finds it thinks that it runs inside that
 * session, and refuses to start, or behaves differently.
 */
const ofSurroundingSession = new Set([
  'CLAUDECODE',
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
