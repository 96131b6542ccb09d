import { AsyncLocalStorage } from 'node:async_hooks';

const environments = new AsyncLocalStorage<NodeJS.ProcessEnv>();

/** Calls `work` with this environment as the current one, including in its asynchronous calls. */
export const withEnvironment = <Result>(env: NodeJS.ProcessEnv, work: () => Result): Result =>
  environments.run(env, work);

/** The environment of the current run; outside of a run that of the process. */
export const currentEnvironment = (): NodeJS.ProcessEnv => environments.getStore() ?? process.env;
