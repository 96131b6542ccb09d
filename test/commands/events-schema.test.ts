import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { expect, test } from 'vitest';
import { eventMeanings } from '../../src/store/events-schema.ts';
import { promise, says, waitsFor } from '../support/agents.ts';
import { change, createProject, root, type TestProject } from '../support/project.ts';

const run = ['ralph', '--json', '--change', change, '--retry-delay', '5ms'];

const schema = JSON.parse(readFileSync(join(root, 'dist/events.schema.json'), 'utf8')) as {
  readonly $id: string;
  readonly definitions: Readonly<Record<string, object>>;
};

/** Like the schema, but rejects fields that it does not describe. */
const closed = (part: unknown): unknown => {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)]));
  return 'required' in part && 'properties' in part ? { additionalProperties: false, ...inner } : inner;
};

const formats = { 'date-time': true } as const;
const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true, formats });
const line = ajv.compile(schema);
const { definitions, $id } = schema;
const strictly = new Ajv({ strict: false, allErrors: true, formats }).addSchema({
  $id,
  definitions: closed(definitions) as object,
});
const strict = (name: string): ValidateFunction => strictly.getSchema(`${$id}#/definitions/${name}`)!;

const check = (validate: ValidateFunction, value: unknown) => {
  if (validate(value)) return;
  throw new Error(`${JSON.stringify(validate.errors, null, 2)}\nin ${JSON.stringify(value)}`);
};

interface Line {
  readonly type: string;
  readonly change?: string;
  readonly view?: object;
}

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each) as Line);

/** Checks every line that a run printed, and its journal. Returns the types of the events. */
const checkRun = (project: TestProject, stdout: string, id = change): string[] => {
  for (const printed of linesOf(stdout)) {
    check(line, printed);
    const { change: _, view, ...event } = printed;
    check(strict('RunEvent'), event);
    if (view !== undefined) check(strict('RunView'), view);
  }
  const journal = readFileSync(project.stateFile(`runs/${project.state(id).run}/events.jsonl`, id), 'utf8');
  for (const each of linesOf(journal)) check(strict('JournalLine'), each);
  return linesOf(stdout).map(({ type }) => type);
};

const limited = JSON.stringify({
  type: 'error',
  error: { name: 'APIError', data: { message: 'usage limit reached, try again in 1s', statusCode: 429 } },
});

const runs: readonly { readonly what: string; readonly agent: string[]; readonly flags: string[] }[] = [
  {
    what: 'complete after a rejected promise',
    agent: [`echo half > work.txt; ${promise}`, `echo done > work.txt; ${promise}`],
    flags: ['--verify', 'grep -q done work.txt'],
  },
  {
    what: 'complete after a review',
    agent: [promise, says('<verdict>FAIL</verdict>'), promise, says('<verdict>PASS</verdict>')],
    flags: ['--review', 'opencode'],
  },
  { what: 'failed', agent: ['echo oops >&2; exit 3'], flags: ['--fail-fast'] },
  {
    what: 'with handover notes, and with a switch on the ladder',
    agent: [`exit 1`, `printf '<handover>\\nNext: b\\n</handover>\\n'; exit 1`, promise],
    flags: ['--escalate', 'opencode:a,opencode:b', '--no-commit'],
  },
  { what: 'blocked', agent: [says('<promise>BLOCKED</promise>')], flags: [] },
  { what: 'deferred, then a limit', agent: [`${says(limited)}; exit 1`, 'true'], flags: ['--max-iterations', '1'] },
  {
    what: 'with a notice',
    agent: [`echo forged > .spool/.state/ralph/${change}/context.txt`, promise],
    flags: [],
  },
];

test('every line of real runs and of their journals fits the published schema, and every event occurs', async () => {
  const seen: string[] = [];
  for (const { agent, flags } of runs) {
    const project = createProject({ agent });
    const { stdout } = await project.spool(...run, ...flags);
    seen.push(...checkRun(project, stdout));
  }
  const tasks = `.spool/changes/${change}/tasks.md`;
  const steered = createProject({
    files: { [tasks]: '- [ ] 1. One\n- [ ] 2. Two\n' },
    agent: [`sed -i 's/\\[ \\] 1/[x] 1/' ${tasks}; ${waitsFor('continue')}`, promise],
  });
  const loop = steered.start(run);
  await loop.printed('"type":"tasks-changed","tasks":{"done":1,"total":2}');
  await steered.spool('pause', change);
  steered.write('continue', '');
  await loop.printed('"type":"paused"');
  await steered.spool('resume', change);
  seen.push(...checkRun(steered, (await loop.result).stdout));
  const other = '003-01_other';
  const files = { [`.spool/changes/${other}/proposal.md`]: '# Other\n\nDo it.\n' };
  const batch = createProject({ files, agent: [promise] });
  const { stdout } = await batch.spool('ralph', '--json', '--all', '--parallel', '2');
  seen.push(...checkRun(batch, stdout));
  expect(new Set(linesOf(stdout).map((each) => each.change))).toEqual(new Set([change, other]));

  expect([...new Set(seen)].toSorted()).toEqual(Object.keys(eventMeanings).toSorted());
});

test('the schema rejects what is no event', () => {
  for (const wrong of [
    {},
    { type: 'unknown' },
    { type: 'notice' },
    { type: 'notice', text: 1 },
    { type: 'gate-started', commands: 'npm test' },
    { type: 'run-ended', reason: 'complete' },
  ])
    expect(line(wrong)).toBe(false);
  expect(line({ type: 'notice', text: 'A field that is added later is accepted.', added: 1 })).toBe(true);
});

test('docs/events.md describes every event and no other', () => {
  const listed = [...readFileSync(join(root, 'docs/events.md'), 'utf8').matchAll(/^\| `([a-z-]+)` +\|/gm)];
  const agentEvents = (definitions.AgentEvent as { oneOf: { properties: { type: { const: string } } }[] }).oneOf;
  expect(listed.map((match) => match[1]).toSorted()).toEqual(
    [...Object.keys(eventMeanings), ...agentEvents.map(({ properties }) => properties.type.const)].toSorted(),
  );
});
