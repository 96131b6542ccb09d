declare const SPOOL_VERSION: string;

/** Inserted by scripts/build.mjs, from package.json. */
export const version = SPOOL_VERSION;
