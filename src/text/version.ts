declare const SPOOL_VERSION: string;

/** Put in by scripts/build.mjs, from package.json. */
export const version = SPOOL_VERSION;
