import { AsyncLocalStorage } from 'node:async_hooks';
import { currentEnvironment, withEnvironment } from '../files/environment.ts';
import { type PassList, filterEnvironment } from './passed-environment.ts';

/**
 * What all processes of one run or command have in common. It follows the asynchronous calls (AsyncLocalStorage), so two
 * runs in one program have separate scopes.
 */
export interface ProcessScope {
  /** The environment of the user, or of the program that started the run. */
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which the user, or that program, started it. */
  readonly cwd: string;
  /** Limit which variables reach agents, the commands of a run, and hooks. */
  readonly passLists: readonly PassList[];
  /** Variables that reach none of them, regardless of the lists. */
  readonly withheld?: readonly string[];
  /**
   * True in Spool itself, where a signal that ends the process has to end git first. False in a program that uses the
   * library.
   */
  readonly ownsProcess: boolean;
}

const scopes = new AsyncLocalStorage<ProcessScope>();

const wholeProgram: ProcessScope = {
  get env() {
    return currentEnvironment();
  },
  get cwd() {
    return process.cwd();
  },
  passLists: [],
  ownsProcess: true,
};

export const withProcessScope = <Result>(scope: ProcessScope, work: () => Result): Result =>
  withEnvironment(scope.env, () => scopes.run(scope, work));

export const currentScope = (): ProcessScope => scopes.getStore() ?? wholeProgram;

/** Returns a function that returns a value of the current run or command, created at its first use. */
export const perScope = <Value>(create: () => Value): (() => Value) => {
  const values = new WeakMap<ProcessScope, Value>();
  return () => {
    const scope = currentScope();
    const known = values.get(scope);
    if (known !== undefined) return known;
    const value = create();
    values.set(scope, value);
    return value;
  };
};

/** Contains the password of the queue, with which an agent could steer the changes of others. */
const queueVariable = 'SPOOL_QUEUE';

/** Returns the variables that are passed on to agents, the commands of a run, and hooks. */
export const allowedEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  filterEnvironment(currentScope().passLists, withoutWithheld(env));

/** Returns the variables that may be passed on if no list removes them. */
export const withoutWithheld = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const withheld = new Set([queueVariable, ...(currentScope().withheld ?? [])]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !withheld.has(name)));
};
