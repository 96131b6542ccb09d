import { testAgent } from './suite.ts';

testAgent('gemini');
testAgent('gemini', 'warm');
testAgent('gemini', 'standby', 'sample');
