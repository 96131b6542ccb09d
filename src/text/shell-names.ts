/** The names of shells: programs that run a text as commands, as in `sh -c '…'`. */
const names = /(?:a|ba|c|da|fi|k|mk|tc|z)?sh/;

/** For use in a larger pattern. */
export const shellNames = names.source;

const name = new RegExp(`^${shellNames}$`);

/** Whether a program, named without its folder, is a shell. */
export const isShell = (program: string): boolean => name.test(program);

/** The names of tools of agents that run a command, and nothing else. */
export const shellTools = /bash|shell|execute|run_shell_command|terminal/.source;
