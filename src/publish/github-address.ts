/** `acme/shop`, or `git.example.com/acme/shop` on another host, as gh takes it; null if it is not an address of a host. */
export const githubAddress = (url: string): string | null => {
  const scheme = /^(?:https?|ssh|git):\/\//.exec(url)?.[0] ?? null;
  const rest = url.slice(scheme?.length ?? 0).replace(/^[^@/\s]*@/, '');
  // Without a scheme, as in git@github.com:acme/shop.git
  const [, host, path] = (scheme === null ? /^([\w.-]+):(.*)$/ : /^([\w.-]+)(?::\d+)?\/(.*)$/).exec(rest) ?? [];
  const [, owner, name] = /^\/?([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(path ?? '') ?? [];
  if (host === undefined || owner === undefined || name === undefined) return null;
  if (owner.startsWith('-') || host.startsWith('-')) return null;
  return host.toLowerCase() === 'github.com' ? `${owner}/${name}` : `${host}/${owner}/${name}`;
};
