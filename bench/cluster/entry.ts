// What the simulated workers use, bundled by bench/cluster.mjs: the same code as in `spool worker`.
export { claimNext, renewClaims, settle } from '../../src/cluster/claims.ts';
export { openDatabase } from '../../src/cluster/database.ts';
export { migrate } from '../../src/cluster/migrations.ts';
export { pollDelayMs } from '../../src/cluster/pace.ts';
export { addToQueue } from '../../src/cluster/queue.ts';
export { findPostgres } from '../../src/cluster/hub/binaries.ts';
export { startServer } from '../../src/cluster/hub/server.ts';
