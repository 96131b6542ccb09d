import { testAgent } from './suite.ts';

testAgent('claude-agent-acp');
testAgent('claude-agent-acp', 'warm', 'sample');
testAgent('claude-agent-acp', 'standby', 'sample');
