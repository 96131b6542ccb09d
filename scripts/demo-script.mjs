// What the scripted model of the demo does: three iterations of real tool calls that finish a small change.
import { join } from 'node:path';

export const change = '001-01_add-greeting';

/** The loop of the demo, which the picture in the README shows. */
export const demoLoop = ['ralph', '--change', change, '--verify', 'npm test', '--model', 'scripted/model'];

/** The sample project, by path. @type {Record<string, string>} */
export const sampleFiles = {
  'README.md': '# Greeter\n\nA small program that greets people.\n',
  'package.json': `${JSON.stringify({ name: 'greeter', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  '.spool/modules/001_greetings/module.md':
    '# Module 001: Greetings\n\nEverything that says hello. Plain JavaScript, no dependencies, tests with `node --test`.\n',
  [`.spool/changes/${change}/proposal.md`]: `# Greet people in their language

## Why

Our users come from all over the world, and the greeter does not greet at all yet.

## What Changes

- \`node src/greet.js Ada\` prints "Hello, Ada!"
- \`node src/greet.js Ada fr\` prints "Bonjour, Ada!"; also de and es

## Done When

- \`node --test\` passes, with a test for each language
`,
  [`.spool/changes/${change}/tasks.md`]: `# Tasks

- [ ] 1. Write src/greet.js
- [ ] 2. Test every language
- [ ] 3. Describe the command in the README
`,
};

const greeter = `const greetings = { en: 'Hello', fr: 'Bonjour', de: 'Hallo', es: 'Hola' };

export const greet = (name, language = 'en') => \`\${greetings[language] ?? greetings.en}, \${name}!\`;

if (process.argv[1] === import.meta.filename) console.log(greet(process.argv[2] ?? 'you', process.argv[3]));
`;

const tests = `import assert from 'node:assert/strict';
import test from 'node:test';
import { greet } from '../src/greet.js';

const expected = { en: 'Hello, Ada!', fr: 'Bonjour, Ada!', de: 'Hallo, Ada!', es: 'Hola, Ada!' };

for (const [language, text] of Object.entries(expected))
  test(\`greets in \${language}\`, () => assert.equal(greet('Ada', language), text));

test('greets in English when the language is unknown', () => assert.equal(greet('Ada', 'xx'), 'Hello, Ada!'));
`;

const readme = `# Greeter

A small program that greets people.

    node src/greet.js Ada      # Hello, Ada!
    node src/greet.js Ada fr   # Bonjour, Ada!

Languages: en, fr, de, es. Tests: node --test
`;

/**
 * @param {string} project the folder of the sample project
 * @returns {(moment: import('../test/model/server.mjs').Moment) => import('../test/model/server.mjs').Turn}
 */
export const demoScript = (project) => {
  const path = (/** @type {string} */ name) => join(project, name);
  const tasks = path(`.spool/changes/${change}/tasks.md`);
  const read = { name: 'read', input: { filePath: tasks } };
  const tick = (/** @type {string} */ task) => ({
    name: 'edit',
    input: { filePath: tasks, oldString: `- [ ] ${task}`, newString: `- [x] ${task}` },
  });
  const write = (/** @type {string} */ name, /** @type {string} */ content) => ({
    name: 'write',
    input: { filePath: path(name), content },
  });
  const shell = (/** @type {string} */ command, /** @type {string} */ description) => ({
    name: 'bash',
    input: { command, description },
  });

  /** @type {import('../test/model/server.mjs').Turn[][]} */
  const iterations = [
    [
      { text: 'I look at the tasks first.', tools: [read] },
      { text: 'Nothing is done yet. I start with the program.', tools: [write('src/greet.js', greeter)] },
      { text: 'Does it greet?', tools: [shell('node src/greet.js Ada && node src/greet.js Ada fr', 'Try it')] },
      { text: 'It does.', tools: [tick('1. Write src/greet.js')] },
      { text: 'The program works. The tests are for the next iteration.' },
    ],
    [
      { text: 'The program is there; the tests are open.', tools: [read] },
      { text: 'One test for each language.', tools: [write('test/greet.test.js', tests)] },
      { text: 'Do they pass?', tools: [shell('node --test', 'Run the tests')] },
      { text: 'They do.', tools: [tick('2. Test every language')] },
      { text: 'Only the README is left.' },
    ],
    [
      { text: 'One task is open.', tools: [read, { name: 'read', input: { filePath: path('README.md') } }] },
      { text: 'I describe the command.', tools: [write('README.md', readme)] },
      { text: 'Once more, everything together.', tools: [shell('node --test', 'Run the tests')] },
      { text: 'Good.', tools: [tick('3. Describe the command in the README')] },
      { text: 'All tasks are done and the tests pass.\n\n<promise>COMPLETE</promise>' },
    ],
  ];
  return ({ iteration, step }) => iterations[iteration - 1]?.[step] ?? { text: 'There is nothing left to do.' };
};
