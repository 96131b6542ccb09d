/** Recognises files with secrets by name. For some names the text decides. */

/** `text` is called only if the name is not enough. */
export const isNamedLikeSecret = (path: string, text: () => string): boolean => {
  if (isExample.test(path)) return false;
  if (always.some((name) => name.test(path))) return true;
  return sometimes.some(({ name, holds }) => name.test(path) && holds(text()));
};

/** Examples, and the public half of a key pair. */
const isExample = /\.(?:example|sample|template|dist|defaults?|pub)$/i;

const always: readonly RegExp[] = [
  /(?:^|\/)\.env(?:rc|\.(?![^/]*\.?(?:d\.ts|[cm]?[jt]s|md|py)$)[\w.-]+)?$|[\w-]\.env(?:\.(?:local|prod|production|dev|development|staging|test|secrets?|bak|backup|old|orig))*$/i,
  /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)(?:[_-][\w-]+)?(?:\.(?:bak|old|orig|pem|key))?$/i,
  /\.(?:p12|pfx|jks|keystore|ppk|kdbx)$/i,
  /(?:^|\/)[._]netrc$/i,
  /(?:^|\/)\.(?:pgpass|git-credentials|htpasswd|vault-token)$/i,
  /(?:^|\/)\.aws\/credentials$/i,
  /(?:^|\/)\.(?:cargo|gem)\/credentials(?:\.toml)?$/i,
];

const sometimes: readonly { readonly name: RegExp; readonly holds: (text: string) => boolean }[] = [
  // A Keynote presentation is a ZIP file.
  { name: /\.key$/i, holds: (text) => !text.startsWith('PK') },
  { name: /\.pem$/i, holds: (text) => !isPublicPem(text) },
  { name: /(?:^|\/)\.npmrc$/i, holds: holdsValue(/(?:_authToken|_password|_auth)\s*=/) },
  { name: /(?:^|\/)\.yarnrc\.yml$/i, holds: holdsValue(/npmAuth(?:Token|Ident)\s*:/) },
  { name: /(?:^|\/)\.pypirc$/i, holds: holdsValue(/^[ \t]*password\s*[:=]/m) },
  { name: /(?:^|\/)\.my\.cnf$/i, holds: holdsValue(/^[ \t]*password\s*=/m) },
  {
    name: /(?:^|\/)(?:\.docker\/config\.json|\.dockercfg|\.dockerconfigjson)$/i,
    holds: holdsValue(/"(?:auth|identitytoken|registrytoken|password)"\s*:\s*"/),
  },
  { name: /(?:^|\/)\.config\/gh\/hosts\.yml$/i, holds: holdsValue(/oauth_token\s*:/) },
  {
    name: /(?:^|\/)credentials$/i,
    holds: holdsValue(/(?:aws_secret_access_key|aws_session_token|password|token|secret)\s*=/i),
  },
  { name: /(?:^|\/)\.kube\/config$/i, holds: holdsValue(/(?:client-key-data|token|password)\s*:/) },
];

/** Matches a setting whose value is neither empty nor a variable. */
function holdsValue(setting: RegExp): (text: string) => boolean {
  const pattern = new RegExp(`${setting.source}[ \\t"']*(?![$\\s"'])\\S`, setting.flags);
  return (text) => pattern.test(text);
}

/** Returns true if there are only certificates and public keys. */
const isPublicPem = (text: string): boolean => {
  const kinds = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g)].map(([, kind]) => kind!);
  return kinds.length > 0 && kinds.every((kind) => /CERTIFICATE|PUBLIC KEY|CRL|PARAMETERS/.test(kind));
};
