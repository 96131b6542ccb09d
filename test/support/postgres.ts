import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { findPostgres } from '../../src/cluster/hub/binaries.ts';
import { type PostgresServer, startServer } from '../../src/cluster/hub/server.ts';
import { root } from './project.ts';

/** A real Postgres server for the tests of a file. */
export const usePostgres = () => {
  let server: PostgresServer;
  let folder: string;
  let databases = 0;
  const start = async (port = 0): Promise<void> => {
    const programs = findPostgres({ folder: process.env.SPOOL_TEST_POSTGRES ?? null, roots: [root] }, process.env);
    if (programs === null) throw new Error('no Postgres server: run "npm install"');
    server = await startServer({ programs, folder, host: '127.0.0.1', port, unsafe: true });
  };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'spool-postgres-'));
    chmodSync(folder, 0o755);
    await start();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    url: (database: string) => server.url(database),
    /** Creates an empty database and returns its address. */
    createDatabase: async (): Promise<string> => {
      const name = `test_${++databases}`;
      await query(server.url('postgres'), `create database ${name}`);
      return server.url(name);
    },
    /** Kills the server without a warning, and starts it again on the same port. */
    crash: async (whileDown: () => Promise<void> = async () => {}): Promise<void> => {
      const { port } = server;
      server.kill('SIGKILL');
      await server.exited;
      await whileDown();
      // The processes of the killed server need a moment to notice.
      for (let tries = 0; ; tries++) {
        const problem = await start(port).catch((error: unknown) => error);
        if (problem === undefined) return;
        if (tries === 100) throw problem;
        await delay(100);
      }
    },
  };
};

/** Sends one query as the owner of the database. */
export const query = async <Row>(url: string, text: string, values: readonly unknown[] = []): Promise<Row[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows as Row[];
  } finally {
    await client.end();
  }
};
