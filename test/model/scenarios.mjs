// The scenarios for every agent, for recording its output and for running the loop on it.
import { join } from 'node:path';

/**
 * @typedef {import('./server.mjs').Moment} Moment
 * @typedef {import('./server.mjs').Turn | import('./server.mjs').Refusal} Answer
 * @typedef {{ allowAll: boolean, script: (moment: Moment, project: string) => Answer }} Scenario
 */

const done = { text: 'All is done.\n\n<promise>COMPLETE</promise>' };

/** @param {string} file */
const writesFile = (file) => ({ text: 'I write the file.', tools: [{ write: file, content: 'made by the agent\n' }] });

/** @type {Record<'completes' | 'continues' | 'denied' | 'unauthorised', Scenario>} */
export const scenarios = {
  completes: {
    allowAll: true,
    script: ({ step }, project) => (step === 0 ? writesFile(join(project, 'made.txt')) : done),
  },
  /** Only the output of a tool contains the promise. */
  continues: {
    allowAll: true,
    script: ({ step }) =>
      step === 0
        ? { text: 'I look.', tools: [{ shell: "printf 'found:\\n<promise>COMPLETE</promise>\\n'" }] }
        : { text: 'There is more to do.' },
  },
  /** A file outside the project. No agent that asks for permissions writes it without asking. */
  denied: {
    allowAll: false,
    script: ({ step }, project) => (step === 0 ? writesFile(join(project, '..', 'outside.txt')) : done),
  },
  unauthorised: { allowAll: true, script: () => ({ status: 401, message: 'no such key' }) },
};
