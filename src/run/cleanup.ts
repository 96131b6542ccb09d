/** What has to be undone at the end of a run, last in, first out. */
export interface Cleanup {
  /** Registers how to release something, and returns it. */
  add<Resource>(resource: Resource, release: (resource: Resource) => unknown): Resource;
  /** Releases everything, also when one of them fails; then it rejects with the first error. */
  run(): Promise<void>;
}

export const createCleanup = (): Cleanup => {
  const releases: (() => unknown)[] = [];
  return {
    add: (resource, release) => {
      releases.push(() => release(resource));
      return resource;
    },
    run: async () => {
      const errors: unknown[] = [];
      for (const release of releases.toReversed()) {
        try {
          await release();
        } catch (error) {
          errors.push(error);
        }
      }
      releases.length = 0;
      if (errors.length > 0) throw errors[0];
    },
  };
};
