import { expect, test } from 'vitest';
import { activityText } from '../../../src/report/activity.ts';
import { symbolsFor } from '../../../src/report/symbols.ts';

const shown = { symbols: symbolsFor({ LANG: 'C.UTF-8' }), root: null };

test.each([
  ['I look at the **current state** of `src/app.ts`.', 'I look at the current state of src/app.ts.'],
  ['## Next\n\n- add **tests**\n\n', '• add tests'],
  ['src/**/*.ts is checked', 'src/**/*.ts is checked'],
  ['\n \n', null],
])('the activity of a text is its last line without Markdown: %j', (text, activity) => {
  expect(activityText({ type: 'agent', event: { type: 'text', text, plain: false } }, shown)).toBe(activity);
});
