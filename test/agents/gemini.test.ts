import { testAgent } from './suite.ts';

testAgent('gemini');
