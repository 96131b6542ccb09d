// Finds, among the tools that an agent offers, the one that runs a command or writes a file, and fills in its input.
/** @typedef {import('./server.mjs').Tool} Tool */
/** @typedef {import('./server.mjs').ToolCall} ToolCall */

const shells = ['bash', 'Bash', 'run_shell_command', 'shell_command', 'exec_command', 'shell', 'local_shell'];
const writers = ['write', 'Write', 'write_file', 'create', 'create_file'];

/**
 * @param {ToolCall} call
 * @param {Tool[]} tools
 * @returns {{ name: string, input: Record<string, unknown> } | null} null if the agent has no such tool
 */
export const concrete = (call, tools) => {
  if ('name' in call) return call;
  const tool = tools.find(({ name }) => ('shell' in call ? shells : writers).includes(name));
  if (!tool) return 'shell' in call ? null : concrete(asCommand(call), tools);
  const wanted =
    'shell' in call
      ? { command: call.shell, cmd: call.shell }
      : {
          filePath: call.write,
          file_path: call.write,
          path: call.write,
          content: call.content,
          file_text: call.content,
        };
  const { properties = {}, required = [] } = tool.schema;
  /** @type {Record<string, unknown>} */
  const input = Object.fromEntries(
    Object.entries(wanted)
      .filter(([key]) => key in properties)
      .map(([key, value]) => [key, properties[key]?.type === 'array' ? ['bash', '-lc', value] : value]),
  );
  for (const key of required) input[key] ??= filler(properties[key]?.type);
  return { name: tool.name, input };
};

/**
 * For agents that write files only with commands.
 * @param {{ write: string, content: string }} call
 */
const asCommand = ({ write, content }) => ({
  shell: `printf %s '${content.replaceAll("'", String.raw`'\''`)}' > '${write}'`,
});

/** @param {string | undefined} type */
const filler = (type) => {
  if (type === 'boolean') return false;
  if (type === 'number' || type === 'integer') return 1000;
  return type === 'array' ? [] : 'scripted';
};
