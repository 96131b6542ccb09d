import { testAgent } from './suite.ts';

testAgent('codex-acp');
testAgent('codex-acp', 'warm', 'sample');
testAgent('codex-acp', 'standby', 'sample');
