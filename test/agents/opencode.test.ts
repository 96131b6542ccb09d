import { testAgent } from './suite.ts';

testAgent('opencode');
testAgent('opencode', 'warm');
