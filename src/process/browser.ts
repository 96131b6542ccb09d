import { once } from 'node:events';
import { spawn } from './spawn.ts';

/** What opens an address in the browser of the user. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens an address, without a shell. Returns why it could not be opened, or null. Does not wait for the browser. */
export const openInBrowser = async (url: string, env: NodeJS.ProcessEnv): Promise<string | null> => {
  const [program = '', ...args] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], {
    env,
    stdio: ['ignore', 'ignore', 'ignore'],
    detached: true,
  });
  child.unref();
  try {
    await once(child, 'spawn');
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? `${program} was not found` : String(error);
  }
};
