import { testAgent, testTable } from './suite.ts';

testAgent('qwen');
testAgent('qwen', 'warm');
testAgent('qwen', 'standby', 'sample');
testTable('qwen');
