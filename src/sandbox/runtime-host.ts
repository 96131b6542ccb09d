import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { commandLine } from '../text/shell-words.ts';
import type { FromHost, ToHost, WrapRequest } from './messages.ts';
import { removeFolder } from './remove-folder.ts';

/**
 * A separate process that hosts the sandbox runtime: its proxies, and its signal handlers, which Spool must not have.
 * It runs until Spool closes the channel, and ends everything that the runtime has started.
 */

interface Manager {
  checkDependencies(): { readonly errors: readonly string[]; readonly warnings: readonly string[] };
  initialize(config: object): Promise<void>;
  wrapWithSandbox(
    command: string,
    shell: string,
    config: object,
    signal: undefined,
    options: { commandId: string },
  ): Promise<string>;
  cleanupAfterCommand(): void;
  reset(): Promise<void>;
}

let manager: Manager | null = null;
let base: string | null = null;

const answer = (message: FromHost): void => {
  if (process.connected) process.send?.(message, () => {});
};

const start = async (request: ToHost & { do: 'start' }): Promise<void> => {
  base = request.base;
  const { SandboxManager } = (await import(pathToFileURL(request.library).href)) as { SandboxManager: Manager };
  manager = SandboxManager;
  const { bwrap, socat, rg } = request.tools;
  await SandboxManager.initialize({
    network: { allowedDomains: request.hosts, deniedDomains: [], allowLocalBinding: true },
    filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
    ...(bwrap ? { bwrapPath: hardenedBwrap(bwrap, request.base), socatPath: socat, ripgrep: { command: rg } } : {}),
  });
  const { errors, warnings } = SandboxManager.checkDependencies();
  // Without the filter for Unix sockets, a command in the sandbox can reach Docker or the session of the user.
  const problem = [...errors, ...warnings.filter((text) => /seccomp/i.test(text))][0];
  if (problem !== undefined) throw new Error(problem);
};

/**
 * Paths below /proc that root can write to even in the sandbox, although they belong to the machine. bubblewrap binds
 * them read-only.
 */
const kernelPaths = ['/proc/sys', '/proc/sysrq-trigger'];

/**
 * Returns the path of a wrapper of bubblewrap with options that the runtime does not set: shared memory and message
 * queues of the machine are inaccessible.
 */
const hardenedBwrap = (bwrap: string, base: string): string => {
  const script = join(base, 'runtime', 'bwrap');
  const readOnly = process.geteuid?.() === 0 ? kernelPaths.filter((path) => existsSync(path)) : [];
  const options = ['--unshare-ipc', ...readOnly.map((path) => `--ro-bind ${path} ${path}`)];
  writeFileSync(
    script,
    `#!/bin/sh
isIn=
for word do
  shift
  if [ "$word" = -- ] && [ -z "$isIn" ]; then isIn=1; set -- "$@" ${options.join(' ')}; fi
  set -- "$@" "$word"
done
exec ${commandLine(bwrap)} "$@"
`,
    { mode: 0o700 },
  );
  return script;
};

const wrap = ({ line, id, writable, readOnly, hidden }: WrapRequest): Promise<string> => {
  if (manager === null) throw new Error('the runtime is not started');
  const literal = (paths: readonly string[]) => paths.map((path) => ({ path, literal: true }));
  const filesystem = { denyRead: literal(hidden), allowWrite: literal(writable), denyWrite: literal(readOnly) };
  return manager.wrapWithSandbox(line, 'sh', { filesystem }, undefined, { commandId: id });
};

const receive = async (request: ToHost): Promise<void> => {
  switch (request.do) {
    case 'start': {
      const problem = await start(request).then(() => null, messageOf);
      return answer({ did: 'start', problem });
    }
    case 'wrap': {
      const { number } = request;
      try {
        return answer({ did: 'wrap', number, command: await wrap(request), problem: null });
      } catch (error) {
        return answer({ did: 'wrap', number, command: null, problem: messageOf(error) });
      }
    }
    case 'clean-up':
      return manager?.cleanupAfterCommand();
  }
};

const messageOf = (error: unknown): string => (error as Error).message;

const end = async (): Promise<void> => {
  await manager?.reset().catch(() => {});
  if (base !== null) removeFolder(base);
  // Handles that the runtime left open must not delay the exit.
  process.kill(process.pid, 'SIGKILL');
};

process.on('message', (request: ToHost) => void receive(request));
process.on('disconnect', () => void end());
