import type { CommandOption, CommandRow } from './command.ts';
import { queueSettingNames } from '../../cluster/queue-settings.ts';
import { json, queue, ralphOptions } from './options.ts';

export const remote: CommandOption = {
  name: 'remote',
  placeholder: 'name',
  help: 'Git remote through which workers exchange their work',
  default: 'origin',
};

const settingsOf = (names: readonly string[]): CommandOption[] =>
  ralphOptions.filter(({ name }) => names.includes(name));

export const clusterCommands: readonly CommandRow[] = [
  {
    name: 'worker',
    summary: 'Run changes from the queue on this machine',
    positionals: [],
    options: [
      queue,
      { name: 'slots', placeholder: 'n', help: 'Changes to run at the same time', default: '1' },
      {
        name: 'label',
        placeholder: 'name=value',
        help: 'Also take changes that require this label (repeatable)',
        repeatable: true,
      },
      {
        name: 'repo',
        placeholder: 'url',
        help: 'Repository to work for (repeatable; default: the remote of the current folder)',
        repeatable: true,
      },
      remote,
      { name: 'name', placeholder: 'name', help: 'Name of this worker (default: the host name)' },
      {
        name: 'lease',
        placeholder: 'time',
        help: 'Let other workers take over after this long without contact',
        default: '30s',
      },
      {
        name: 'checkpoint',
        placeholder: 'time',
        help: 'Push the files of a running iteration this often',
        default: '3m',
      },
      { name: 'folder', placeholder: 'path', help: 'Folder for clones (default: in your data folder)' },
      {
        name: 'metrics',
        placeholder: 'port',
        help: 'Serve metrics for Prometheus on this port, or on host:port (default host: 127.0.0.1)',
      },
      ...settingsOf(['allowAll', 'allow', 'deny', 'sandbox', 'sandboxAllow', 'sandboxWrite', 'stopGrace']),
    ],
    examples: [
      'spool worker',
      'spool worker --slots 4 --label agent=claude --allow-all --sandbox',
      'spool worker --repo git@github.com:acme/app.git --repo git@github.com:acme/site.git',
    ],
    load: () => import('../worker.ts'),
  },
  {
    name: 'queue add',
    summary: 'Add changes to the queue',
    positionals: [
      { name: 'change', help: 'Change ID or unique prefix', optional: true, repeatable: true, suggest: 'changes' },
    ],
    options: [
      { name: 'all', help: 'Add all active changes' },
      { name: 'prompt', placeholder: 'text', help: 'What to do (default: the proposal of the change)' },
      { name: 'priority', placeholder: 'n', help: 'Changes with a higher number run first', default: '0' },
      {
        name: 'label',
        placeholder: 'name=value',
        help: 'Only for workers with this label, such as agent=claude (repeatable)',
        repeatable: true,
      },
      { name: 'fresh', help: 'Start a new run on a new branch' },
      ...settingsOf(queueSettingNames),
      remote,
      queue,
      json,
    ],
    examples: [
      'spool queue add 002-01',
      'spool queue add 002-01 002-02 --priority 5',
      'spool queue add --all --max-cost 50 --label agent=claude',
    ],
    load: () => import('../queue/add.ts'),
  },
  {
    name: 'queue list',
    summary: 'List the changes in the queue and the workers',
    positionals: [],
    options: [{ name: 'everywhere', help: 'Show all repositories, not only this one' }, remote, queue, json],
    examples: ['spool queue list', 'spool queue list --everywhere --json'],
    load: () => import('../queue/list.ts'),
  },
  {
    name: 'queue cancel',
    summary: 'Remove changes from the queue, or stop them on their worker',
    positionals: [{ name: 'change', help: 'Change ID or unique prefix', repeatable: true, suggest: 'changes' }],
    options: [remote, queue, json],
    examples: ['spool queue cancel 002-01'],
    load: () => import('../queue/cancel.ts'),
  },
  {
    name: 'queue migrate',
    summary: 'Create or update the tables of the queue',
    positionals: [],
    options: [queue, json],
    examples: ['spool queue migrate --queue postgres://owner@db.example.com/spool'],
    load: () => import('../queue/migrate.ts'),
  },
  {
    name: 'queue recover',
    summary: 'Update the queue from the git remote, after the database was restored from a backup',
    positionals: [],
    options: [remote, queue, json],
    examples: ['spool queue recover --queue "$(spool hub --print-url owner)"'],
    load: () => import('../queue/recover.ts'),
  },
  {
    name: 'hub',
    summary: 'Run a Postgres server for the queue, if you have none',
    positionals: [],
    options: [
      { name: 'folder', placeholder: 'path', help: 'Data folder (default: in your state folder)' },
      { name: 'port', placeholder: 'n', help: 'Port to listen on', default: '5433' },
      {
        name: 'host',
        placeholder: 'address',
        help: 'Address to listen on; any but 127.0.0.1 uses TLS',
        default: '127.0.0.1',
      },
      { name: 'postgres', placeholder: 'folder', help: 'Folder that contains initdb and postgres' },
      {
        name: 'printUrl',
        placeholder: 'role',
        help: 'Print the URL with the password of a role (worker, user or owner), then exit',
      },
    ],
    examples: [
      'spool hub',
      'spool hub --host 0.0.0.0 --folder /var/lib/spool-hub',
      'export SPOOL_QUEUE="$(spool hub --print-url user)"',
    ],
    load: () => import('../hub.ts'),
  },
];
