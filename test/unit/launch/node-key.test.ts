import { expect, test } from 'vitest';
import { nodeKey } from '../../../src/launch/node-key.ts';

const node = { version: 'v20.19.0', platform: 'linux', arch: 'x64' } as const;

test.each([
  [[], {}, 'v20.19.0-linux-x64'],
  [[], { NODE_OPTIONS: '  ' }, 'v20.19.0-linux-x64'],
  [['--max-semi-space-size=4'], {}, 'v20.19.0-linux-x64-max-semi-space-size=4'],
  [[], { NODE_OPTIONS: '--max-old-space-size=4096' }, 'v20.19.0-linux-x64-max-old-space-size=4096'],
  [[], { NODE_OPTIONS: '--max-old-space-size=4096 --cpu-prof' }, null],
  [[], { NODE_OPTIONS: '--max-old-space-size=/../../4' }, null],
  [['--require', './hook.cjs'], {}, null],
  [['--inspect'], {}, null],
  [[], { NODE_V8_COVERAGE: 'coverage' }, null],
  [[], { NODE_DISABLE_COMPILE_CACHE: '1' }, null],
])('Node with %j and %j stores code in %j', (execArgv, env, expected) => {
  expect(nodeKey({ ...node, execArgv, env })).toBe(expected);
});
