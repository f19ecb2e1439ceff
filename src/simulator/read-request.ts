import type { IncomingMessage } from 'node:http';
import { type PhpInput, readInput } from './php-input.js';
import type { PlatformCall } from './platform.js';

/** Larger bodies get 413. */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const PLAIN_PATH = /^(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/;

/** @returns undefined above {@link BODY_LIMIT_BYTES} */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined)
    return '';
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Read to the end, as a caller that is still sending would not see the response.
    if (size <= BODY_LIMIT_BYTES) chunks.push(chunk);
  }
  return size <= BODY_LIMIT_BYTES ? Buffer.concat(chunks).toString('utf8') : undefined;
}

/** @returns path and query of a request target, both as sent; absolute targets lose scheme and host */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const relative = target.startsWith('/') ? target : target.replace(/^[a-z]+:\/\/[^/?]*/i, '');
  const mark = relative.indexOf('?');
  return mark < 0
    ? { path: relative, query: '' }
    : { path: relative.slice(0, mark), query: relative.slice(mark + 1) };
}

/**
 * Normalizes a path like a web server: decoded once, without empty, `.` and `..` segments.
 * @returns the part below the base path; undefined outside it, or if it cannot be decoded
 */
export function plainPath(path: string, basePath: string): string | undefined {
  let plain = path;
  if (!PLAIN_PATH.test(path)) {
    const segments: string[] = [];
    for (const segment of decodePath(path)?.split('/') ?? []) {
      if (segment === '..') segments.pop();
      else if (segment !== '' && segment !== '.') segments.push(segment);
    }
    plain = `/${segments.join('/')}`;
  }
  if (basePath === '') return plain;
  return plain.startsWith(`${basePath}/`) ? plain.slice(basePath.length) : undefined;
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** @param path from {@link plainPath} */
export function readCall(
  request: IncomingMessage,
  path: string,
  query: string,
  body: string,
  basePath: string,
): PlatformCall {
  const { headers } = request;
  const input = readInput(query, headers['content-type'] ?? '', body);
  return {
    method: effectiveMethod(request, input),
    path,
    origin: `http://${headers.host ?? 'localhost'}${basePath}`,
    headers,
    input,
    body,
  };
}

/** A POST may name another method in a header or in the member `_method`. */
function effectiveMethod({ method = 'GET', headers }: IncomingMessage, input: PhpInput): string {
  if (method !== 'POST') return method;
  const named = String(headers['x-http-method-override'] ?? input.get('_method') ?? '').toUpperCase();
  return METHODS.has(named) ? named : method;
}
