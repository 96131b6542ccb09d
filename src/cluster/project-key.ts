import { isAbsolute, resolve } from 'node:path';

/**
 * Identifies the repository of a project on every machine: the address of its remote without protocol, user and password,
 * so that `git@github.com:acme/app.git` and `https://github.com/acme/app` are the same.
 */
export const projectKey = (url: string, cwd: string): string => {
  const trimmed = url.trim().replace(/(?<!\/)\/+$/, '');
  if (URL.canParse(trimmed) && /^[a-z][a-z\d+.-]+:\/\//i.test(trimmed)) {
    const { protocol, hostname, port, pathname } = new URL(trimmed);
    if (protocol === 'file:') return withoutGit(decodeURIComponent(pathname));
    const usual = { 'https:': '443', 'http:': '80', 'ssh:': '22', 'git:': '9418' }[protocol];
    const at = port === '' || port === usual ? '' : `:${port}`;
    return `${hostname.toLowerCase()}${at}${withoutGit(decodeURIComponent(pathname))}`;
  }
  const [, host, path] = /^(?:[^@/\s]+@)?([^:/\s]{2,}):(?!\/\/)(.+)$/.exec(trimmed) ?? [];
  if (host !== undefined) return `${host.toLowerCase()}/${withoutGit(path!.replace(/^\/+/, ''))}`;
  return withoutGit(isAbsolute(trimmed) ? trimmed : resolve(cwd, trimmed));
};

const withoutGit = (path: string): string => path.replace(/(?<!\/)\/+$/, '').replace(/\.git$/, '');
