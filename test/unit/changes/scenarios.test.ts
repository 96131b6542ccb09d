import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fileCriteria } from '../../../src/changes/file/criteria.ts';
import { kiroCriteria } from '../../../src/changes/kiro/criteria.ts';
import { scenarioIdsElsewhere } from '../../../src/changes/scenarios/elsewhere.ts';
import { scenariosInSpec } from '../../../src/changes/scenarios/in-specs.ts';
import { scenariosOf, toScenarios } from '../../../src/changes/scenarios/scenarios.ts';
import { foldId, slugOf } from '../../../src/changes/scenarios/slug.ts';
import { verifiedTasks } from '../../../src/changes/scenarios/task-commands.ts';
import { changeOf, changeOfFile } from '../../../src/changes/sources.ts';
import { specKitCriteria } from '../../../src/changes/spec-kit/criteria.ts';
import { asUserError } from '../../../src/errors.ts';
import { referencesIn } from '../../../src/proof/references.ts';
import { itoTree, kiroTree, openSpecTree, specKitTree } from '../../fixtures/specs/trees.ts';
import { backlogTask, bmadSpec, bmadStory, featureList, prd, taskMaster } from '../../fixtures/task-files.ts';

const inSpec = (text: string, tasks = '') =>
  toScenarios(scenariosInSpec({ capability: 'auth', path: 'specs/auth/spec.md', text }), verifiedTasks(tasks));

const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);

const hex = expect.stringMatching(/^[0-9a-f]{32}$/);

describe('scenariosOf', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'spool-scenarios-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const write = (files: Readonly<Record<string, string | Buffer>>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  };
  const ofChange = async (id: string) => scenariosOf(await changeOf({ root }, id), root);
  const ofFile = async (path: string, text: string) => {
    write({ [path]: text });
    return scenariosOf(await changeOfFile({ root }, path, root), root);
  };

  test('every source of changes', async () => {
    write({ ...openSpecTree, ...itoTree, ...specKitTree, ...kiroTree });
    write({
      '.ito/changes/001-01_add-invoices/specs/invoices/spec.md':
        '## ADDED Requirements\n\n### Requirement: Orders\n\n- **Requirement ID**: invoices:orders\n\nMUST.\n\n#### Scenario: Parsed\n\nIt is.\n',
      '.ito/changes/001-01_add-invoices/tasks.md':
        '### Task 1.1: Parse orders\n\n- **Verify**: `npm test`\n- **Requirements**: invoices:orders\n- **Status**: [ ] pending\n',
      '.kiro/specs/dark-mode/tasks.md': '- [ ] 1.1 Read it\n  - **Verify**: `make dark`\n  - _Requirements: 1.1_\n',
      'specs/001-photo-albums/tasks.md': '- [ ] T002 [P] [US1] List albums\n  - **Verify:** `make list`\n',
    });

    expect(await ofChange('add-2fa')).toEqual([
      {
        id: 'auth/second-factor/code-asked',
        title: 'Code asked',
        requirement: 'Second factor',
        hash: hex,
        path: 'openspec/changes/add-2fa/specs/auth/spec.md',
        line: 7,
        verify: [],
      },
    ]);
    expect(await ofChange('001-01_add-invoices')).toMatchObject([
      { id: 'invoices:orders/parsed', requirement: 'Orders', line: 9, verify: ['npm test'] },
    ]);
    expect(await ofChange('001-photo-albums')).toMatchObject([
      {
        id: '001-photo-albums/us1.1',
        title: 'Given no album, When the user creates one, Then it is listed',
        requirement: 'User Story 1 - Create an album (Priority: P1)',
        line: 9,
        verify: ['make list'],
      },
    ]);
    expect(await ofChange('dark-mode')).toMatchObject([
      {
        id: 'dark-mode/1.1',
        title: 'WHEN the system is dark THEN the page SHALL be dark',
        requirement: 'Requirement 1: Theme',
        line: 9,
        verify: ['make dark'],
      },
    ]);
  });

  test('ids of other changes and of main specs', async () => {
    write({ ...openSpecTree, ...specKitTree, ...kiroTree });
    write({
      'openspec/specs/area/login/spec.md': '## Requirements\n\n### Requirement: R\n\n#### Scenario: S\n\nIt works.\n',
      'openspec/specs/broken/spec.md': Buffer.from([0xff, 0xfe]),
      'openspec/changes/broken/specs/a/spec.md': Buffer.from([0xff, 0xfe]),
      'openspec/changes/broken/proposal.md': '',
    });
    expect([...(await scenarioIdsElsewhere({ root }, 'dark-mode'))].toSorted()).toEqual([
      '001-photo-albums/us1.1',
      'area/login/r/s',
      'auth/second-factor/code-asked',
    ]);
  });

  test('files of a Spool change: nested ones, others than spec.md, hidden ones, none', async () => {
    const folder = '.spool/changes/002-01_a';
    const spec = '### Requirement: R\n\n#### Scenario: S\n\nIt works.\n';
    write({ [`${folder}/proposal.md`]: '# A\n' });
    expect(await ofChange('002-01_a')).toEqual([]);
    write({
      [`${folder}/specs/area/login/spec.md`]: spec,
      [`${folder}/specs/loop.md`]: spec,
      [`${folder}/specs/.draft/spec.md`]: spec,
      [`${folder}/specs/notes.txt`]: spec,
    });
    expect(ids(await ofChange('002-01_a'))).toEqual(['area/login/r/s', 'loop/r/s']);
    write({ [`${folder}/specs/loop.md`]: Buffer.from([0xff, 0xfe, 0x23, 0x00]) });
    await expect(ofChange('002-01_a').catch((error) => Promise.reject(asUserError(error)))).rejects.toMatchObject({
      code: 'bad-encoding',
    });
  });

  test('every format of task files', async () => {
    const json = (value: unknown) => JSON.stringify(value, null, 2);
    expect(await ofFile('1-2-login.md', bmadStory)).toMatchObject([
      { id: '1-2-login/ac-1', title: 'It is dark', requirement: 'Story 1.2: Login', line: 11 },
    ]);
    expect(ids(await ofFile('spec.md', bmadSpec))).toEqual(['spec/given-a-page-when-it-is-opened-then-it-is-dark']);
    expect(await ofFile('back-1 - Login.md', backlogTask)).toMatchObject([
      { id: 'TASK-1/ac-1', title: 'It is dark' },
      { id: 'TASK-1/ac-2', title: 'It is tested' },
    ]);
    expect(await ofFile('prd.json', json(prd))).toMatchObject([
      { id: 'prd/US-001/it-is-dark', requirement: 'US-001 Dark page', line: 8 },
    ]);
    expect(await ofFile('feature_list.json', json(featureList))).toMatchObject([
      { id: 'feature-list/the-page-is-dark', line: 4 },
      { id: 'feature-list/it-is-tested', line: 12 },
    ]);
    expect(await ofFile('tasks.json', json(taskMaster))).toEqual([]);
    expect(
      ids(
        await ofFile(
          'plan.md',
          '# Plan\n\n### US-1: Page\n\n**Acceptance Criteria:**\n- [ ] Dark\n- [x] Fast\n\n**Notes:**\n- no\n',
        ),
      ),
    ).toEqual(['plan/us-1-page/dark', 'plan/us-1-page/fast']);
  });
});

describe('a spec', () => {
  const requirement = (name: string, ...scenarios: string[]) =>
    `### Requirement: ${name}\n\nIt MUST work.\n\n${scenarios.map((each) => `#### Scenario: ${each}\n\n- **WHEN** x\n- **THEN** y\n`).join('\n')}\n`;

  test('added, modified and stray requirements count, removed ones do not', () => {
    const text = `${requirement('Stray', 'S')}
## ADDED Requirements
${requirement('A', 'One', 'Two')}
## MODIFIED Requirements
${requirement('M', 'Three')}
## REMOVED Requirements
${requirement('Gone', 'Four')}
## RENAMED Requirements
- FROM: \`### Requirement: Old\`
- TO: \`### Requirement: New\`
## Notes
#### Scenario: Not in a requirement
`;
    expect(ids(inSpec(text))).toEqual(['auth/stray/s', 'auth/a/one', 'auth/a/two', 'auth/m/three']);
  });

  test('code and comments hide headings if they are closed', () => {
    const text = `### Requirement: R
#### Scenario: One
\`\`\`md
#### Scenario: In code
\`\`\`
<!-- #### Scenario: In a comment -->
<!--
#### Scenario: In a long comment
\`\`\`
-->
#### Scenario: Two <!-- note -->
<!-- not closed
#### Scenario: Three
~~~
#### Scenario: Four
`;
    expect(inSpec(text)).toMatchObject([
      { id: 'auth/r/one', line: 2 },
      { id: 'auth/r/two', line: 11 },
      { id: 'auth/r/three', line: 13 },
      { id: 'auth/r/four', line: 15 },
    ]);
  });

  test.each([
    ['Stays signed in', 'stays-signed-in'],
    ['  `spool loop` — "alias"!  ', 'spool-loop-alias'],
    ['Café Ångström naïve', 'cafe-angstrom-naive'],
    ['ログイン に 成功', 'ログイン-に-成功'],
    ['Вход в систему: мой', 'вход-в-систему-мой'],
    ['Ǆ ﬁ Ⅷ ½', 'dz-fi-viii-1-2'],
    ['नमस्ते दुनिया', 'नमस्ते-दुनिया'],
    ['로그인 성공', '로그인-성공'],
    ['🚀 Launch 1️⃣', 'launch-1'],
    ['a\u200bb\u00adc', 'abc'],
    ['../../etc/passwd', 'etc-passwd'],
  ])('the title %j becomes %s', (title, slug) => {
    expect(slugOf(title)).toBe(slug);
  });

  test('titles without letters and long ones get a hash', () => {
    expect(slugOf('🚀')).toMatch(/^[0-9a-f]{6}$/);
    expect(slugOf('🚀')).not.toBe(slugOf('🎉'));
    const long = 'word '.repeat(100);
    expect(slugOf(long)).toMatch(/^(?:word-){8,}[0-9a-f]{6}$/);
    expect(slugOf(long)).not.toBe(slugOf(`${long}more`));
    expect([...slugOf('字'.repeat(500))].length).toBeLessThanOrEqual(60);
  });

  test('a slug can be written behind @scenario, and stays as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (title) => {
        const slug = slugOf(title);
        expect(referencesIn(`x @scenario a/${slug} y`)).toEqual([`a/${slug}`]);
        expect(slugOf(slug)).toBe(slug);
        expect(slugOf(` ${title}\t`)).toBe(slug);
      }),
    );
  });

  test('given ids win', () => {
    const text = `### Requirement: [REQ-7] Login
#### Scenario: [LOGIN-1] First
#### Scenario: LOGIN-2: Second
#### Scenario: Third
- **Scenario ID**: \`login.third\`
#### Scenario: HTTP2 is used
#### Scenario: Fifth
`;
    expect(ids(inSpec(text))).toEqual(['LOGIN-1', 'LOGIN-2', 'login.third', 'REQ-7/http2-is-used', 'REQ-7/fifth']);
  });

  test('equal titles get a hash of the text, in any order', () => {
    const one = '#### Scenario: Same\n\nOne.\n';
    const two = '#### Scenario: same!\n\nTwo.\n';
    const of = (...scenarios: string[]) => ids(inSpec(`### Requirement: R\n\n${scenarios.join('\n')}`));
    const [first, second] = of(one, two);
    expect([first, second]).toEqual([
      expect.stringMatching(/^auth\/r\/same-[0-9a-f]{6}$/),
      expect.stringMatching(/^auth\/r\/same-[0-9a-f]{6}$/),
    ]);
    expect(of(two, one)).toEqual([second, first]);
    expect(of(one, two, one)).toEqual([first, second, `${first}-2`]);
    expect(of(one)).toEqual(['auth/r/same']);
  });

  test('ids are unique for any titles', () => {
    const title = fc.oneof(fc.constantFrom('a', 'A', 'á', 'a-2', '[A-1] x', 'A-1: y', '🚀'), fc.string());
    fc.assert(
      fc.property(fc.array(fc.tuple(title, fc.constantFrom('x', 'y'))), (all) => {
        const text = all.map(([each, body]) => `#### Scenario: ${each}\n\n${body}\n`).join('\n');
        const found = inSpec(`### Requirement: R\n${text}`).map(({ id }) => foldId(id));
        expect(new Set(found).size).toBe(found.length);
      }),
    );
  });
});

describe('the hash of a text', () => {
  const hashOf = (body: string, title = 'S') =>
    inSpec(`### Requirement: R\n\n#### Scenario: ${title}\n${body}`)[0]!.hash;
  const text = '\n- **WHEN** a user logs in\n- **THEN** the page is dark\n\n```json\n{ "a": 1 }\n```\n';

  test.each([
    ['CRLF', text.replaceAll('\n', '\r\n')],
    ['trailing spaces', text.replaceAll('\n', '  \n')],
    ['other list markers', text.replaceAll('- **', '* **')],
    ['numbers', text.replaceAll('- **', '1. **')],
    ['no list', text.replaceAll('- **', '**')],
    ['indentation', text.replaceAll('- **', '   - **')],
    ['reflowed lines', text.replace('a user logs in', 'a user\n  logs   in')],
    ['other emphasis', text.replaceAll('**', '__')],
    ['blank lines', text.replaceAll('\n- ', '\n\n\n- ')],
    ['a comment', `${text}<!-- todo -->\n`],
    ['a command', `${text}- **Verify**: \`npm test\`\n`],
  ])('does not depend on %s', (_, other) => {
    expect(hashOf(other)).toBe(hashOf(text));
  });

  test.each([
    ['a word', text.replace('dark', 'light')],
    ['a word less', text.replace('the page', 'page')],
    ['case', text.replace('dark', 'Dark')],
    ['code', text.replace('1 }', '2 }')],
    ['a line more', `${text}- **AND** it is fast\n`],
    ['the order', text.replace('WHEN', 'THAN').replace('THEN', 'WHEN')],
  ])('depends on %s', (_, other) => {
    expect(hashOf(other)).not.toBe(hashOf(text));
  });

  test('depends on every word, and on nothing but words', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1 }),
        fc.nat(),
        word,
        fc.constantFrom(' ', '\n', '\n  ', '  '),
        (...given) => {
          const [words, at, other, blank] = given;
          expect(hashOf(words.join(blank))).toBe(hashOf(words.join(' ')));
          const changed = words.with(at % words.length, other);
          expect(hashOf(changed.join(' ')) === hashOf(words.join(' '))).toBe(changed.join() === words.join());
        },
      ),
    );
  });
});

describe('commands', () => {
  const verifyOf = (line: string, tasks = '') =>
    inSpec(`### Requirement: Log in\n\n#### Scenario: S\n\n${line}\n`, tasks)[0]!.verify;

  test.each([
    ['**Verify**: `npm test`', ['npm test']],
    ['- **Verify:** `npm test` passes with `x`', ['npm test']],
    ['* __verify__: ``echo `a` ``', ['echo `a`']],
    ['**Verify**: `a`\n- **Verify**: `b`\n- **Verify**: `a`', ['a', 'b']],
    ['**Verify**: by hand', []],
    ['**Verify**: `npm test', []],
    ['**Verify**: ` `', []],
    ['```\n**Verify**: `npm test`\n```', []],
    ['<!-- **Verify**: `npm test` -->', []],
    ['Verify: `npm test`', []],
  ])('in %j', (line, commands) => {
    expect(verifyOf(line)).toEqual(commands);
  });

  test.each([
    ['- [ ] 1.1 A\n  - **Verify**: `a`\n  - **Requirements**: Log in', ['a']],
    ['- [ ] 1.1 A\n  - **Verify**: `a`\n  - **Requirements**: auth: log  in, other', ['a']],
    ['- [ ] 1.1 A (auth/log-in/s)\n  - **Verify**: `a`', ['a']],
    ['- [ ] 1.1 A @scenario auth/log-in/s\n  - **Verify**: `a`', ['a']],
    [
      '### Task 1: A\n- [ ] x\n- **Requirements**: Log in\n- **Verify**: `a`\n- **Status**: [ ] pending\n- [ ] y',
      ['a'],
    ],
    ['- [ ] 1.1 A\n  - **Requirements**: Log in\n- [ ] 1.2 B\n  - **Verify**: `b`', []],
    ['- [ ] 1.1 A\n  - **Verify**: `a`', []],
    ['- [ ] 1.1 A\n  - **Verify**: `a`\n  - **Requirements**: Log out', []],
    ['- [ ] auth/log-in/s\n  - **Verify**: `a`\n- [ ] auth/log-in/s\n  - **Verify**: `b`', ['a', 'b']],
  ])('of the task %j', (tasks, commands) => {
    expect(verifyOf('', tasks)).toEqual(commands);
  });
});

describe('lists of criteria', () => {
  const of = { name: 'Dark mode', path: 'a.md' };
  const kiro = (text: string) => ids(toScenarios(kiroCriteria(text, of), []));
  const kit = (text: string) => ids(toScenarios(specKitCriteria(text, of), []));
  const file = (text: string) => ids(toScenarios(fileCriteria(text, 'docs/a.md'), []));

  test('of Kiro', () => {
    expect(
      kiro(`# Requirements
### Requirement 1: Theme
#### Acceptance Criteria
1. WHEN a THEN b
   AND c
2. IF d THEN e

   - detail

Text.

- not a criterion of its own? It is one without a number.
### Requirement 2
#### Acceptance criteria
1. one
1. two
### Requirement 3: Dotted
#### Acceptance Criteria
3.1 WHEN a
3.2. WHEN b
`),
    ).toEqual([
      'dark-mode/1.1',
      'dark-mode/1.2',
      'dark-mode/1/not-a-criterion-of-its-own-it-is-one-without-a-number',
      'dark-mode/2/one',
      'dark-mode/2/two',
      'dark-mode/3.1',
      'dark-mode/3.2',
    ]);
    expect(
      kiro(
        '## Bug Analysis\n### Current Behavior (Defect)\n1.1 WHEN a\n### Expected Behavior (Correct)\n2.1 WHEN a\n### Unchanged Behavior\n3.1 WHEN b\n',
      ),
    ).toEqual(['dark-mode/2.1', 'dark-mode/3.1']);
  });

  test('of spec-kit', () => {
    expect(
      kit(`### User Story 1 - A (Priority: P1)
**Why this priority**: it is
**Acceptance Scenarios**:

1. **Given** a, **When** b, **Then** c
2. **Given** d,
   **When** e

**Independent Test**: none
- not one

### User Story 2 - B
**Acceptance Scenarios**:
- **Given** x
- [AS-9] **Given** y
---
### Edge Cases
- no
`),
    ).toEqual(['dark-mode/us1.1', 'dark-mode/us1.2', 'dark-mode/us2/given-x', 'dark-mode/AS-9']);
  });

  test('of task files', () => {
    expect(
      file('## Acceptance Criteria\n\n### AC1: Login\n\n**Given** a\n\n### Group\n\n- [ ] one\n- [x] two\n'),
    ).toEqual(['a/AC1', 'a/group/one', 'a/group/two']);
    expect(
      file('## Story\n## Acceptance Criteria\n**AC1:** Given a\nmore\n\n**AC2:** Given b\n## Tasks\n- [ ] x\n'),
    ).toEqual(['a/AC1', 'a/AC2']);
    expect(file('**Acceptance Criteria**\n- a\n```\n- b\n```\n<!-- - c -->\n')).toEqual(['a/a']);
    expect(file('{"userStories": 1}')).toEqual([]);
    expect(file('[1, {"description": "x", "steps": 2}, null]')).toEqual(['a/x']);
    expect(file('{"tasks": [{"id": 1, "metadata": {"acceptanceCriteria": "- a\\n- b"}}]}')).toEqual(['a/1/a', 'a/1/b']);
  });

  test('a changed step of a feature changes its hash', () => {
    const hash = (steps: string[]) =>
      toScenarios(fileCriteria(JSON.stringify([{ description: 'x', steps }]), 'a.json'), [])[0]!.hash;
    expect(hash(['a'])).not.toBe(hash(['b']));
  });

  test('anything can be read', () => {
    const part = fc.constantFrom(
      '## Acceptance Criteria\n',
      '- ',
      '1. ',
      '1.2 ',
      '**AC1:** ',
      '[A-1] ',
      '```\n',
      '<!--',
      '-->',
      '\n',
      '# a',
      ' ',
      '{',
      '[',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string())), (parts) => {
        const text = parts.join('');
        for (const found of [kiro(text), kit(text), file(text)]) expect(new Set(found).size).toBe(found.length);
      }),
    );
  });
});
