import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promise } from '../support/agents.ts';
import { change, createProject, root, spoolProgram, startProcess } from '../support/project.ts';
import { startReceiver } from '../support/receiver.ts';

const page = readFileSync(join(root, 'docs/notifications.md'), 'utf8');
const recipes = [...page.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1]!);

/** The first words of what a recipe runs or sends. */
const expected: readonly (readonly string[])[] = [
  ['notify-send --app-name=Spool'],
  ['/ {"topic":"spool-4f1c9a"'],
  ['/services/T000/B000/XXXX {"text":'],
  ['/api/webhooks/1234/abcd/slack {"text":'],
  ['/spool {"v":1,"event":"complete"'],
  [],
  ['curl -sS -F token= -F user= -F title=002-01_add-ralph-loop: complete'],
  ['say 002-01_add-ralph-loop: complete'],
  ['notify-send --app-name=Spool'],
];

test('every recipe in docs/notifications.md works', async () => {
  expect(recipes).toHaveLength(expected.length);
  for (const [index, recipe] of recipes.entries()) {
    const { host, received } = await startReceiver();
    const project = createProject({ agent: [promise], files: { [`.spool/changes/${change}/tasks.md`]: null } });
    const bin = join(project.home, 'bin');
    mkdirSync(bin);
    const write = (name: string, script: string) => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    write('spool', `exec '${process.execPath}' '${spoolProgram}' "$@"`);
    for (const tool of ['notify-send', 'curl', 'mail', 'say']) write(tool, `echo "${tool} $*" >> "$HOME/told"`);
    writeFileSync(join(project.home, 'told'), '');

    // The addresses of others are those of the test.
    const local = recipe
      .replace('ntfy:', `ntfy:http://${host}/`)
      .replaceAll(/https:\/\/((?:me:secret@)?)(?:hooks\.slack\.com|discord\.com|example\.com)/g, `http://$1${host}`);
    const { code, stderr } = await startProcess('sh', ['-e', '-c', local], {
      cwd: project.folder,
      env: { ...project.env, PATH: `${bin}:${project.env.PATH}` },
    }).result;

    expect({ recipe, code, problems: stderr.match(/^spool: .*$/gm) }).toEqual({ recipe, code: 0, problems: null });
    const told = [
      ...received.map(({ path, body }) => `${path} ${JSON.stringify(body)}`),
      ...readFileSync(join(project.home, 'told'), 'utf8').split('\n').slice(0, 1).filter(Boolean),
    ];
    expect(told.map((line, at) => line.slice(0, expected[index]![at]?.length))).toEqual(expected[index]);
  }
});

test('the payload in docs/notifications.md has the fields that a URL gets', async () => {
  const { host, received } = await startReceiver();
  await createProject({ agent: [promise] }).spool('ralph', '--change', change, '--notify', `http://${host}/`);
  const documented = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!) as object;
  expect(Object.keys(received[0]!.body)).toEqual(Object.keys(documented));
});
