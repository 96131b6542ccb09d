import { createHash } from 'node:crypto';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { entriesOf } from '../../files/folders.ts';
import { readRegular } from '../../files/regular.ts';
import { send, type Reply } from './answer.ts';

/** A file of the page, in memory: there are few, and they are small. */
interface StaticFile {
  readonly type: string;
  readonly etag: string;
  /** Its name has a hash of its contents, so it never changes. */
  readonly isImmutable: boolean;
  /** Its contents by encoding. */
  readonly contents: Readonly<Record<'identity' | 'br' | 'gzip', Buffer>>;
}

/** The files of the page by the path under which they are served. Nothing else of the disk can be asked for. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};

/** Such as `app-0b3f9ac2d1.js`. */
const hashed = /-[\da-f]{10}\.\w{1,12}$/;

/** Where scripts/build-page.mjs writes the page, each file compressed with Brotli. */
const pageFolder = () => fileURLToPath(new URL('../web/', import.meta.url));

export const loadStaticFiles = (folder = pageFolder()): StaticFiles => {
  const names = entriesOf(folder)
    .filter((entry) => entry.isFile() && extname(entry.name) === '.br')
    .map((entry) => basename(entry.name, '.br'))
    .filter((name) => types[extname(name)] !== undefined);
  return new Map(names.map((name) => [name === 'index.html' ? '/' : `/${name}`, loadFile(folder, name)]));
};

const loadFile = (folder: string, name: string): StaticFile => {
  const br = readRegular(join(folder, `${name}.br`)) ?? Buffer.alloc(0);
  const identity = brotliDecompressSync(br);
  return {
    type: types[extname(name)]!,
    etag: `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    isImmutable: hashed.test(name),
    contents: { identity, br, gzip: gzipSync(identity) },
  };
};

/** `accepts`: the Accept-Encoding header. `known`: the If-None-Match header. */
export const sendStatic = (
  reply: Reply,
  { type, etag, isImmutable, contents }: StaticFile,
  { accepts = '', known = '' }: { readonly accepts?: string | undefined; readonly known?: string | undefined },
): void => {
  const accepted = new Set(accepts.split(',').map((name) => name.trim()));
  const encoding = (['br', 'gzip'] as const).find((name) => accepted.has(name));
  const headers = {
    'content-type': type,
    etag,
    vary: 'accept-encoding',
    'cache-control': isImmutable ? 'private, max-age=31536000, immutable' : 'private, no-cache',
  };
  if (known.split(/,\s*/).includes(etag)) return send(reply, { status: 304, body: Buffer.alloc(0), headers });
  send(reply, {
    status: 200,
    body: contents[encoding ?? 'identity'],
    headers: { ...headers, ...(encoding && { 'content-encoding': encoding }) },
  });
};
