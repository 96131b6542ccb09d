import type { RunEvent } from '../ralph/events.ts';
import type { JsonSchema } from '../text/shape.ts';
import { journalLine, runEvent } from './event-format.ts';
import { parseView } from './formats.ts';

/** The version of the format. A field or event that is added does not change it. */
const version = 1;

/** The JSON schema of `--json` and of the journal of a run; scripts/build.mjs writes it into the package. */
export const eventsSchema = (): JsonSchema => {
  const definitions = new Map<string, JsonSchema>();
  const [event, line, view] = [runEvent, journalLine, parseView].map(({ schema }) => schema(definitions));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: `urn:spool-ralph:events:v${version}`,
    title: `Spool: a line of "spool ralph --json", version ${version}`,
    description: `A line of the journal (events.jsonl) is ${String(line?.$ref)}.`,
    allOf: [
      event,
      {
        properties: {
          change: { type: 'string', description: 'With several changes, the one that the event belongs to' },
        },
        if: { properties: { type: { const: 'run-ended' } } },
        // oxlint-disable-next-line unicorn/no-thenable
        then: { required: ['view'], properties: { view } },
      },
    ],
    definitions: Object.fromEntries(
      [...definitions].map(([name, schema]) => [name, name === 'RunEvent' ? withMeanings(schema) : schema]),
    ),
  };
};

const withMeanings = ({ oneOf }: JsonSchema): JsonSchema => ({
  oneOf: (oneOf as readonly TaggedSchema[]).map((schema) => ({
    description: eventMeanings[schema.properties.type.const],
    ...schema,
  })),
});

interface TaggedSchema {
  readonly properties: { readonly type: { readonly const: RunEvent['type'] } };
}

export const eventMeanings: Readonly<Record<RunEvent['type'], string>> = {
  'run-started': 'A run starts or is resumed',
  'agent-switched': 'Another rung of the ladder runs the next iteration',
  'iteration-started': 'An agent is started',
  agent: 'The agent says or does something',
  'tasks-changed': 'Tasks were ticked, added or removed while the agent works',
  notice: 'A message of Spool',
  'iteration-finished': 'An iteration is recorded',
  'attempt-deferred': 'An agent is not available; the attempt does not count as an iteration',
  waiting: 'The run waits, for a usage limit or before a retry',
  requested: 'Another process asked the run to stop, pause or resume, and it will',
  paused: 'The run waits for a request to resume',
  resumed: 'A paused run continues',
  'iteration-pending': 'The agent has ended and the checks start',
  'gate-started': 'The verify commands start',
  'run-ended': 'The run ends; the last event',
};
