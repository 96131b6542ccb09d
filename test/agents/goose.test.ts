import { testAgent } from './suite.ts';

testAgent('goose', 'warm');
testAgent('goose', 'cold', 'sample');
testAgent('goose', 'standby', 'sample');
