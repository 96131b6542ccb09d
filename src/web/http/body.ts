import type { IncomingMessage } from 'node:http';
import { parseJson } from '../../text/shape.ts';
import { badRequest, Refused } from './refusal.ts';

/** More than the longest context that a person types. */
const maxBody = 256 * 1024;

/**
 * Reads the JSON of a POST. The header and the content type are such that a form or a link of another site cannot send them
 * without asking this server first, which never allows it.
 */
export const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const { 'content-type': type = '', 'x-spool': guard } = request.headers;
  if (guard !== '1') throw badRequest('The header "X-Spool: 1" is missing.');
  if (!/^application\/json(?:;|$)/i.test(type))
    throw new Refused({ status: 415, code: 'wrong-type', message: 'The content type must be application/json.' });
  const value = parseJson(await readText(request));
  if (value === undefined) throw badRequest('The body is not JSON.');
  return value;
};

const readText = async (request: IncomingMessage): Promise<string> => {
  if (Number(request.headers['content-length'] ?? 0) > maxBody) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBody) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const tooLarge = (): Refused =>
  new Refused({
    status: 413,
    code: 'too-large',
    message: `The request is larger than ${maxBody / 1024} KB.`,
    headers: { connection: 'close' },
  });
