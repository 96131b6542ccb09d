import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { configIn } from '../../../src/config/file.ts';
import { configSchema } from '../../../src/config/schema.ts';

const project = { root: '/nowhere' };
const matchesSchema = new Ajv({ allowUnionTypes: true }).compile(configSchema());

test.each([
  ['{"verify":5}', 'must be a command or a list of commands, not 5'],
  ['{"verify":[5]}', 'must be a command or a list of commands, not [5]'],
  ['{"model":5}', 'must be a name that does not start with "-", not 5'],
  ['{"completionPromise":1}', 'must be one line of text without < and >, not 1'],
  ['{"commitMessage":1}', 'must be some text without NUL characters, not 1'],
  ['{"notify":1}', 'not 1'],
  ['{"notifyOn":5}', 'must be some of complete, blocked,'],
  ['{"notifyOn":["done"]}', 'not "done"'],
  ['{"harness":1}', 'not 1'],
  ['{"maxCost":1e400}', 'must be an amount in dollars such as 5 or 2.50, or "unlimited", not Infinity'],
  ['{"model":1e400}', 'not Infinity'],
  ['{"queue":5}', '"queue" must be an address such as postgres://'],
  ['{"queue":"https://db.example.com/spool"}', '"queue" must be an address such as postgres://'],
  ['{"queue":"postgres://me:secret@db.example.com/spool"}', '"queue" must not contain a password'],
  ['{"idleTimeout":"0s"}', 'must be a duration above zero'],
  ['{"commitMessage":"a\\u0000b"}', 'must be some text without NUL characters, not "a\\u0000b"'],
  ['{"worktreeSetup":"a\\u0000b"}', 'must be some text without NUL characters'],
  ['{"changes":{"001":{"worktreeSetup":"a\\u0000b"}}}', 'must be some text without NUL characters'],
])('%s is rejected by Spool and by the schema', async (text, problem) => {
  await expect(configIn(project, text)).rejects.toThrow(problem);
  expect(matchesSchema(JSON.parse(text))).toBe(false);
});

test.each([
  '{"worktree":{"setup":"a\\u0000b"}}',
  '{"verify":["a\\u0000b"]}',
  '{"verify":"a\\u0000b"}',
  '{"notify":["a\\u0000b"]}',
  '{"notify":"a\\u0000b"}',
  '{"notify":["Desktp"]}',
  '{"harnesses":{"mine":{"command":"a\\u0000b"}}}',
  '{"sources":{"openspec":"a\\u0000b"}}',
])('%s is rejected', async (text) => {
  await expect(configIn(project, text)).rejects.toThrow('.spool/config.json: ');
});

test.each([
  '{"maxIterations":5,"maxCost":2.5,"maxTokens":"2m"}',
  '{"commitMessage":"one\\n\\ttwo","notifyOn":["complete"],"idleTimeout":"0.5s","verify":["a","b"]}',
  '{"notify":["make","tell","./desktp","dekstop now","notify"]}',
  '{"iterationTimeout":"unlimited","verifyTimeout":"10m","notifyOn":"complete,failed","model":"5"}',
])('%s is accepted by both', async (text) => {
  await expect(configIn(project, text)).resolves.toBeDefined();
  expect(matchesSchema(JSON.parse(text))).toBe(true);
});
