import { describe, expect, test } from 'vitest';
import { change, createProject } from '../support/project.ts';

describe('Requirement: Robust completion promise detection', () => {
  // @scenario ralph-telemetry/robust-completion-promise-detection/completion-promise-detection-ignores-whitespace
  test('Completion promise detection ignores whitespace', async () => {
    const project = createProject({ agent: [String.raw`printf '<promise>\nCOMPLETE\n</promise>'`] });

    const result = await project.spool('ralph', 'Build it.', '--change', change, '--completion-promise', 'COMPLETE');

    expect(result.code).toBe(0);
    expect(project.history()).toMatchObject([{ iteration: 1, completionFound: true }]);
  });
});

const prints = (text: string) => String.raw`printf '%s\n' '${text}'`;
const message = (text: string) => prints(JSON.stringify({ type: 'text', part: { text } }));
const tag = '<promise>COMPLETE</promise>';

describe('The promise ends the last message', () => {
  test.each([
    ['a heading and a list before it', `## Done\n\n- Fixed the parser\n- Added tests\n\n${tag}`],
    ['no full stop before it', `All tests pass\n\n${tag}`],
    ['a label before it', `**Final answer:** ${tag} ✅`],
    ['a code fence around it', `All is done.\n\n\`\`\`xml\n${tag}\n\`\`\``],
  ])('a promise with %s counts, in events and in plain output', async (_, words) => {
    for (const agent of [message(words), prints(words)]) {
      const project = createProject({ agent: [agent] });
      expect(await project.spool('ralph', '--change', change, '--max-iterations', '1')).toMatchObject({ code: 0 });
    }
  });

  test.each([
    ['text after it', `${tag}\n\nRemaining TODO: task two is not done.`],
    ['an announcement before it', `When everything is done I will print:\n\n${tag}`],
    ['a sentence around it', `I do not print ${tag} yet.`],
  ])('a promise with %s does not count, in events and in plain output', async (_, words) => {
    for (const agent of [message(words), prints(words)]) {
      const project = createProject({ agent: [agent] });
      expect(await project.spool('ralph', '--change', change, '--max-iterations', '1')).toMatchObject({ code: 3 });
      expect(project.history()).toMatchObject([{ completionFound: false, error: null }]);
      expect(project.history()[0]!.rejected).not.toBeNull();
    }
  });
});
