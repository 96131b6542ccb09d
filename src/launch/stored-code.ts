export interface StoredCode {
  readonly code: Buffer;
  readonly size: number;
  readonly writes: number;
}

/**
 * The bytes of a file: a header, the source, and the compiled code twice. V8 does not check the code, and damaged code
 * crashes the process. Comparing two copies takes some microseconds; a checksum would take milliseconds, because
 * `node:zlib` and `node:crypto` take that long to load.
 */
export const packCode = ({ source, code, writes }: { source: Buffer; code: Buffer; writes: number }): Buffer => {
  const header = Buffer.alloc(headerSize);
  [format, writes, source.length, code.length].forEach((value, index) => header.writeUInt32LE(value, index * 4));
  return Buffer.concat([header, source, code, code]);
};

/** Returns null unless the file is complete, undamaged, and of exactly this source. */
export const unpackCode = (bytes: Buffer, source: Buffer): StoredCode | null => {
  if (bytes.length < headerSize || bytes.readUInt32LE(0) !== format) return null;
  const size = bytes.readUInt32LE(12);
  const start = headerSize + source.length;
  if (bytes.readUInt32LE(8) !== source.length || bytes.length !== start + 2 * size) return null;
  if (bytes.compare(source, 0, source.length, headerSize, start) !== 0) return null;
  const code = bytes.subarray(start, start + size);
  if (bytes.compare(code, 0, size, start + size) !== 0 || code.includes(emptyBlock)) return null;
  return { code, size, writes: bytes.readUInt32LE(4) };
};

const format = 0x31_4c_50_53;
const headerSize = 16;

/** After a power failure, blocks of a file can be empty, in both copies. Compiled code has no such block. */
const emptyBlock = Buffer.alloc(512);
