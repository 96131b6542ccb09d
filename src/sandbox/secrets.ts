import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { userFolder } from '../files/home.ts';

/** Where keys and credentials are: in their usual places, and where the variables of the user say. */
export const secretsOf = (home: string, env: NodeJS.ProcessEnv): string[] => [
  ...new Set([
    ...secretNames.map((name) => join(home, name)),
    ...moved('.config', env.XDG_CONFIG_HOME),
    ...moved('.local/share', env.XDG_DATA_HOME),
    userFolder({ ...env, HOME: home }),
    ...secretVariables.flatMap((name) => pathsIn(env[name])),
    ...pathsIn(env.CARGO_HOME).flatMap((folder) =>
      ['credentials', 'credentials.toml'].map((file) => join(folder, file)),
    ),
  ]),
];

/** Those below a folder, when a variable names another one for it. */
const moved = (usual: string, folder: string | undefined): string[] =>
  pathsIn(folder).flatMap((path) =>
    secretNames.filter((name) => name.startsWith(`${usual}/`)).map((name) => join(path, name.slice(usual.length + 1))),
  );

const pathsIn = (value = ''): string[] =>
  value.split(delimiter).flatMap((path) => (isAbsolute(path) ? [resolve(path)] : []));

/** They name a file or a folder with keys, or several. */
const secretVariables = [
  'GNUPGHOME',
  'PASSWORD_STORE_DIR',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_CONFIG_FILE',
  'AZURE_CONFIG_DIR',
  'CLOUDSDK_CONFIG',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'KUBECONFIG',
  'DOCKER_CONFIG',
  'GH_CONFIG_DIR',
  'GLAB_CONFIG_DIR',
  'NETRC',
  'NPM_CONFIG_USERCONFIG',
  'npm_config_userconfig',
  'PGPASSFILE',
  'RCLONE_CONFIG',
];

/** Keys and credentials, below the home folder. */
const secretNames = [
  '.ssh',
  '.gnupg',
  '.password-store',
  '.aws',
  '.azure',
  '.config/gcloud',
  '.kube',
  '.docker',
  '.netrc',
  '_netrc',
  '.git-credentials',
  '.config/git/credentials',
  '.config/gh',
  '.config/hub',
  '.config/glab-cli',
  '.npmrc',
  '.yarnrc.yml',
  '.pypirc',
  '.gem/credentials',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.m2/settings.xml',
  '.gradle/gradle.properties',
  '.terraform.d/credentials.tfrc.json',
  '.vault-token',
  '.pgpass',
  '.my.cnf',
  '.config/op',
  '.config/rclone',
  '.local/share/keyrings',
  '.config/containers/auth.json',
  '.config/github-copilot',
  '.config/pip/pip.conf',
  '.config/sops/age/keys.txt',
  '.composer/auth.json',
  '.databrickscfg',
  '.s3cfg',
  '.boto',
  '.oci',
  '.terraformrc',
  '.bash_history',
  '.zsh_history',
  '.zhistory',
  '.sh_history',
  '.psql_history',
  '.python_history',
  '.local/share/fish/fish_history',
  // Of agents; one that runs can read its own.
  '.claude/.credentials.json',
  '.claude.json',
  '.codex/auth.json',
  '.copilot',
  '.gemini/oauth_creds.json',
  '.qwen/oauth_creds.json',
  '.local/share/opencode/auth.json',
  '.local/share/amp/secrets.json',
  '.pi/agent/auth.json',
  '.config/cursor/auth.json',
  // Of browsers and of mail.
  '.mozilla',
  '.thunderbird',
  '.config/google-chrome',
  '.config/chromium',
  '.config/BraveSoftware',
  '.config/microsoft-edge',
  '.config/vivaldi',
  '.config/opera',
  'snap/firefox',
  'snap/chromium',
  '.var/app',
  'Library/Keychains',
  'Library/Cookies',
  'Library/Application Support/Google/Chrome',
  'Library/Application Support/Chromium',
  'Library/Application Support/BraveSoftware',
  'Library/Application Support/Microsoft Edge',
  'Library/Application Support/Firefox',
  'Library/Safari',
];
