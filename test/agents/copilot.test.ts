import { testAgent, testTable } from './suite.ts';

testAgent('copilot');
testAgent('copilot', 'warm');
testAgent('copilot', 'standby', 'sample');
testTable('copilot');
