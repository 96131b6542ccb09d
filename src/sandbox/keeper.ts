import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { commandLine } from '../text/shell-words.ts';
import type { FromKeeper, ToKeeper, WrapRequest } from './messages.ts';
import { removeFolder } from './remove.ts';

/**
 * A process of its own that holds the sandbox runtime: its proxies, and its signal handlers, which Spool must not have.
 * It lives as long as Spool keeps the channel open, and takes with it what the runtime has started.
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

const answer = (message: FromKeeper): void => {
  if (process.connected) process.send?.(message, () => {});
};

const start = async (request: ToKeeper & { do: 'start' }): Promise<void> => {
  base = request.base;
  const { SandboxManager } = (await import(pathToFileURL(request.library).href)) as { SandboxManager: Manager };
  manager = SandboxManager;
  const { bwrap, socat, rg } = request.tools;
  await SandboxManager.initialize({
    network: { allowedDomains: request.hosts, deniedDomains: [], allowLocalBinding: true },
    filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
    ...(bwrap ? { bwrapPath: confiningMore(bwrap, request.base), socatPath: socat, ripgrep: { command: rg } } : {}),
  });
  const { errors, warnings } = SandboxManager.checkDependencies();
  // Without the filter for Unix sockets a command inside reaches Docker, or the user's session.
  const problem = [...errors, ...warnings.filter((text) => /seccomp/i.test(text))][0];
  if (problem !== undefined) throw new Error(problem);
};

/** What root may write below /proc, also inside, is the machine's: bubblewrap is called with these read-only. */
const kernelPaths = ['/proc/sys', '/proc/sysrq-trigger'];

/** The path of a bubblewrap that adds what the runtime leaves out: shared memory and queues of the machine are out of reach. */
const confiningMore = (bwrap: string, base: string): string => {
  const script = join(base, 'keeper', 'bwrap');
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
  if (manager === null) throw new Error('it was not started');
  const literal = (paths: readonly string[]) => paths.map((path) => ({ path, literal: true }));
  const filesystem = { denyRead: literal(hidden), allowWrite: literal(writable), denyWrite: literal(readOnly) };
  return manager.wrapWithSandbox(line, 'sh', { filesystem }, undefined, { commandId: id });
};

const receive = async (request: ToKeeper): Promise<void> => {
  switch (request.do) {
    case 'start': {
      const problem = await start(request).then(() => null, textOf);
      return answer({ did: 'start', problem });
    }
    case 'wrap': {
      const { number } = request;
      try {
        return answer({ did: 'wrap', number, command: await wrap(request), problem: null });
      } catch (error) {
        return answer({ did: 'wrap', number, command: null, problem: textOf(error) });
      }
    }
    case 'clean-up':
      return manager?.cleanupAfterCommand();
  }
};

const textOf = (error: unknown): string => (error as Error).message;

const end = async (): Promise<void> => {
  await manager?.reset().catch(() => {});
  if (base !== null) removeFolder(base);
  // Whatever the runtime still has open must not keep it here.
  process.kill(process.pid, 'SIGKILL');
};

process.on('message', (request: ToKeeper) => void receive(request));
process.on('disconnect', () => void end());
