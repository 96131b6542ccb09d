import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { expect, test } from 'vitest';
import { commands } from '../../src/commands/registry/registry.ts';
import { optionFlag } from '../../src/config/flags.ts';
import { root } from '../support/project.ts';

const read = (path: string) => readFileSync(join(root, 'examples', path), 'utf8');

/** Throws for a command line that Spool would not understand. */
const checkCommand = (words: readonly string[]): void => {
  const command = commands.find(({ name }) => words.slice(0, name.split(' ').length).join(' ') === name);
  if (command === undefined) throw new Error(`no command: ${words.join(' ')}`);
  const known = new Set(command.options.map(optionFlag));
  for (const word of words.filter((each) => each.startsWith('--')))
    if (!known.has(word)) throw new Error(`${command.name} has no ${word}`);
};

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly stop_grace_period?: string;
}

test('the example for Docker Compose refers to what it defines, and calls commands that exist', () => {
  const compose = load(read('docker-compose/compose.yaml')) as {
    services: Record<string, Service>;
    networks: Record<string, unknown>;
  };
  for (const { image, build, command, networks, depends_on: needed = {} } of Object.values(compose.services)) {
    expect(Number(image === undefined) + Number(build === undefined)).toBe(1);
    if (command !== undefined) checkCommand(command);
    expect(networks.filter((name) => !(name in compose.networks))).toEqual([]);
    expect(Object.keys(needed).filter((name) => !(name in compose.services))).toEqual([]);
  }
  expect(compose.services.worker).toMatchObject({ stop_grace_period: '2h' });
  expect(compose.services.worker!.environment.SPOOL_QUEUE).toMatch(/^postgres:\/\/spool_worker:/);
});

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod };
    readonly podSelector: { readonly matchLabels: object };
  };
}

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly env: readonly { readonly valueFrom: Record<string, { readonly name: string; readonly key: string }> }[];
    readonly volumeMounts: readonly { readonly name: string }[];
    readonly livenessProbe?: unknown;
  }[];
  readonly volumes: readonly { readonly name: string }[];
}

test('the example for Kubernetes refers to what it defines, drains, and calls a command that exists', () => {
  const manifests = loadAll(read('kubernetes/spool.yaml')) as Manifest[];
  const of = (kind: string) => manifests.find((each) => each.kind === kind)!;
  expect(manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
    'v1 Namespace',
    'v1 Secret',
    'v1 ConfigMap',
    'apps/v1 Deployment',
    'networking.k8s.io/v1 NetworkPolicy',
  ]);
  expect(manifests.slice(1).map(({ metadata }) => metadata.namespace)).toEqual(Array(4).fill('spool'));
  const { selector, template } = of('Deployment').spec;
  expect(template.metadata.labels).toMatchObject(selector.matchLabels);
  expect(template.metadata.labels).toMatchObject(of('NetworkPolicy').spec.podSelector.matchLabels);
  const { terminationGracePeriodSeconds, containers, volumes } = template.spec;
  expect(terminationGracePeriodSeconds).toBe(7200);
  const [worker] = containers;
  checkCommand(worker!.args);
  expect(worker!.livenessProbe).toBe(undefined);
  const known = { secretKeyRef: of('Secret').stringData!, configMapKeyRef: of('ConfigMap').data! };
  for (const { valueFrom } of worker!.env)
    for (const [kind, { key }] of Object.entries(valueFrom))
      expect(known[kind as keyof typeof known]).toHaveProperty(key);
  const names = volumes.map(({ name }) => name);
  expect(worker!.volumeMounts.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
});

test.each(['spool-hub', 'spool-worker'])(
  'the unit %s calls a command that exists, and gives it time to stop',
  (name) => {
    const unit = read(`systemd/${name}.service`);
    const [, command = ''] = /^ExecStart=\/usr\/local\/bin\/spool (.*)$/m.exec(unit) ?? [];
    checkCommand(command.split(' '));
    expect(unit).toMatch(/^TimeoutStopSec=/m);
    expect(unit).toMatch(/^User=spool-/m);
    for (const line of unit.split('\n').filter(Boolean))
      expect(line).toMatch(/^(?:#.*|\[(?:Unit|Service|Install)\]|[A-Z]\w+=\S.*)$/);
  },
);
