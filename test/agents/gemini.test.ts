import { testAgent, testTable } from './suite.ts';

testAgent('gemini');
testAgent('gemini', 'warm');
testAgent('gemini', 'standby', 'sample');
testTable('gemini');
