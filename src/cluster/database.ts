import type { Client, Pool, PoolClient, QueryResultRow } from 'pg';
import { systemProblem, userError } from '../errors.ts';
import { withoutPassword } from '../text/address.ts';
import { withoutControls } from '../text/controls.ts';
import { version } from '../text/version.ts';
import { createListener } from './listener.ts';

/** Runs SQL. Numbers of type bigint and numeric are returned as numbers. */
export interface Sql {
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database extends Sql {
  /** The address without a password. */
  readonly name: string;
  /** Calls `work` in a transaction, which is undone if it rejects. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  /**
   * Calls the listener of a channel for each notification, over one connection. Connects again by itself if it is lost,
   * until closed. Notifications in between are missed, so listeners must look by themselves now and then. Queries are sent
   * over the same connection while it has nothing to do, so a process at rest has one connection, and notices that it was
   * cut off.
   */
  listen(listeners: Readonly<Record<string, (payload: string) => void>>): void;
  close(): Promise<void>;
}

/** Besides the one that listens: enough for two queries and one transaction at the same time. */
const maxConnections = 3;
const connectMs = 5000;
/** A server that is cut off from the network does not answer at all. */
const queryMs = 10_000;

/** Connects when the first query is sent. */
export const openDatabase = async (url: string): Promise<Database> => {
  const { default: pg } = await import('pg');
  const address = checkedUrl(url);
  const settings = {
    connectionString: verifying(url),
    application_name: `spool ${version}`,
    connectionTimeoutMillis: connectMs,
    query_timeout: queryMs,
    statement_timeout: queryMs,
    keepAlive: true,
    types: { getTypeParser: numbersAsNumbers(pg.types.getTypeParser) },
  };
  const pool: Pool = new pg.Pool({
    ...settings,
    max: maxConnections,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  });
  // A connection that breaks while it is not used: the next query reports it.
  pool.on('error', () => {});
  const asProblem = (error: unknown): never => {
    if (isRefusal(error)) throw userError('queue-denied', address, problemOf(error));
    throw isServerAnswer(error) ? error : userError('queue-unreachable', address, problemOf(error));
  };
  const onClient = (client: Pick<Pool | PoolClient, 'query'>): Sql => ({
    query: async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await client.query<Row>(text, [...values]).catch(asProblem)).rows,
  });
  const listener = createListener(() => new pg.Client(settings));
  const overListener = async <Row extends QueryResultRow>(client: Client, ...query: Parameters<Sql['query']>) => {
    try {
      const rows = await onClient(client).query<Row>(...query);
      listener.release(client);
      return rows;
    } catch (error) {
      // The answer may still come, and would be taken for that to another query.
      if (codeOf(error) === 'queue-unreachable') client.emit('error', error as Error);
      else listener.release(client);
      throw error;
    }
  };
  return {
    name: address,
    query: (...query) => {
      const client = listener.take();
      return client === null ? onClient(pool).query(...query) : overListener(client, ...query);
    },
    transaction: async (work) => {
      const client = await pool.connect().catch(asProblem);
      return inTransaction(client, { work: () => work(onClient(client)), asProblem });
    },
    listen: (listeners) => void listener.listen(listeners),
    close: async () => {
      listener.close();
      await pool.end();
    },
  };
};

interface Transaction<Result> {
  readonly work: () => Promise<Result>;
  readonly asProblem: (error: unknown) => never;
}

/** Releases the client afterwards. */
const inTransaction = async <Result>(client: PoolClient, { work, asProblem }: Transaction<Result>): Promise<Result> => {
  // Without a listener, a connection that breaks ends the process.
  const ignore = () => {};
  client.on('error', ignore);
  let isBroken: boolean = true;
  try {
    await client.query('begin').catch(asProblem);
    const result = await work();
    await client.query('commit').catch(asProblem);
    isBroken = false;
    return result;
  } catch (error) {
    isBroken = !(await client.query('rollback').then(
      () => true,
      () => false,
    ));
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(isBroken);
  }
};

/** The address without its password. Throws if it is not the address of a Postgres server. */
const checkedUrl = (url: string): string => {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['postgres:', 'postgresql:'].includes(parsed.protocol))
    throw userError('bad-queue', 'must be an address such as postgres://user@host:5432/database');
  return withoutControls(withoutPassword(url));
};

/**
 * Modes of TLS that do not say whether the certificate is checked: it is checked. "sslmode=no-verify" is the one that
 * does not.
 */
const verifying = (url: string): string => {
  const parsed = new URL(url);
  if (!['prefer', 'require', 'verify-ca'].includes(parsed.searchParams.get('sslmode') ?? '')) return url;
  parsed.searchParams.set('sslmode', 'verify-full');
  return parsed.href;
};

/** The role may not log in, there is no such database, or the role lacks a right. */
const isRefusal = (error: unknown): boolean => /^(?:28...|3D000|42501)$/.test(codeOf(error));

/** Errors of the server have a code of five characters. Those that begin with 08 or 57 are about the connection. */
const isServerAnswer = (error: unknown): boolean => isSqlState(error) && !/^(?:08|57P|53)/.test(codeOf(error));

/** Unlike `EPERM`, it has digits. */
const isSqlState = (error: unknown): boolean => /^(?=.*\d)[0-9A-Z]{5}$/.test(codeOf(error));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

const problemOf = (error: unknown): string => {
  const first = error instanceof AggregateError ? (error.errors as unknown[])[0] : error;
  const isPlain = isSqlState(first) || /CERT|TLS|ISSUER/.test(codeOf(first));
  const text = isPlain ? (first as Error).message : systemProblem(first);
  return withoutControls(text === '' ? 'no answer' : text);
};

const numericType = 1700;
const bigintType = 20;

type TypeParser = (type: number, format?: 'text' | 'binary') => (value: string) => unknown;

const numbersAsNumbers =
  (others: unknown): TypeParser =>
  (type, format) =>
    type === numericType || type === bigintType ? Number : (others as TypeParser)(type, format);
