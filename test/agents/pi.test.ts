import { testAgent } from './suite.ts';

testAgent('pi');
