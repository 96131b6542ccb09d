import { testAgent } from './suite.ts';

testAgent('qwen');
