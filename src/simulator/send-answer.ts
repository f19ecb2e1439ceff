import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Answer } from './answer.js';
import type { Switches } from './switches.js';

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const CHAIN_LENGTH = 6;
const BOMB_BLOCKS = 256;
const BLOCK_BYTES = 1024 * 1024;

/** Adds common headers and encodes the body. @param session distinguishes the session cookies of calls */
export function toWire(
  answer: Answer,
  switches: Switches,
  acceptEncoding: string,
  session: number,
): WireAnswer {
  const { body, encoding } = encode(answer, switches.contentEncoding, acceptEncoding);
  return {
    status: answer.status,
    headers: {
      server: 'nginx',
      'content-type': answer.type,
      ...(switches.cacheControl === '' ? {} : { 'cache-control': switches.cacheControl }),
      ...(switches.vary === '' ? {} : { vary: switches.vary }),
      'set-cookie': `laravel_session=${session.toString(36).padStart(12, '0')}; path=/; httponly; samesite=lax`,
      ...answer.headers,
      ...(encoding === '' ? {} : { 'content-encoding': encoding }),
      'content-length': String(body.length),
    },
    body,
  };
}

export function send(response: ServerResponse, { status, headers, body }: WireAnswer): void {
  response.writeHead(status, headers);
  response.end(body);
}

function encode(
  { status, body: text }: Answer,
  contentEncoding: Switches['contentEncoding'],
  acceptEncoding: string,
): { body: Buffer; encoding: string } {
  const body = Buffer.from(text);
  if (contentEncoding === 'gzip' && acceptsGzip(acceptEncoding)) {
    return { body: gzipSync(body), encoding: 'gzip' };
  }
  if (contentEncoding === 'chain') {
    const layers = Array.from({ length: CHAIN_LENGTH }, () => 'gzip');
    return { body: layers.reduce((inner) => gzipSync(inner), body), encoding: layers.join(', ') };
  }
  if (contentEncoding === 'bomb' && status === 200) return { body: bomb(), encoding: 'gzip' };
  return { body, encoding: '' };
}

function acceptsGzip(acceptEncoding: string): boolean {
  const asked = acceptEncoding.toLowerCase().split(',');
  return asked.some((part) => /^\s*gzip\s*(;|$)/.test(part) && !/;\s*q=0(\.0*)?\s*$/.test(part));
}

/** One gzip member per mebibyte of spaces (RFC 1952, section 2.2: members are concatenated). */
function bomb(): Buffer {
  const block = gzipSync(Buffer.alloc(BLOCK_BYTES, ' '));
  const blocks = Array.from({ length: BOMB_BLOCKS }, () => block);
  return Buffer.concat([gzipSync('{"data":['), ...blocks, gzipSync(']}')]);
}
