import { testAgent } from './suite.ts';

testAgent('codex-acp');
testAgent('codex-acp', 'warm', 'sample');
