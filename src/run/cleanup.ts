/** Releases the resources of a run, in reverse order. */
export interface Cleanup {
  /** Registers a resource and returns it. */
  add<Resource>(resource: Resource, release: (resource: Resource) => unknown): Resource;
  /** Releases all resources, even if releasing one fails. Rejects with the first error. */
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
