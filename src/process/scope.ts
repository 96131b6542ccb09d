import { AsyncLocalStorage } from 'node:async_hooks';
import { type PassList, passedBy } from './passed-environment.ts';

/**
 * What all processes that are started for one run or command have in common. It travels with the asynchronous calls
 * instead of through every parameter list, so that two runs in one program do not share it.
 */
export interface ProcessScope {
  /** The environment of the user, or of the program that started the run. */
  readonly env: NodeJS.ProcessEnv;
  /** Limit which variables reach agents, the commands of a run, and hooks. */
  readonly passLists: readonly PassList[];
  /** The program is Spool itself: a signal that ends it has to end git first. False in another program. */
  readonly ownsProcess: boolean;
}

const scopes = new AsyncLocalStorage<ProcessScope>();

const wholeProgram = (): ProcessScope => ({ env: process.env, passLists: [], ownsProcess: true });

export const inScope = <Result>(scope: ProcessScope, work: () => Result): Result => scopes.run(scope, work);

export const currentScope = (): ProcessScope => scopes.getStore() ?? wholeProgram();

/** The part of an environment that is passed on to agents, the commands of a run, and hooks. */
export const passed = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => passedBy(currentScope().passLists, env);
