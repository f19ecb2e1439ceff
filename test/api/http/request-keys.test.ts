import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { noteSession, readKeyHeaders } from '../../../src/api/http/request-keys.js';

const read = (...rawHeaders: string[]) => readKeyHeaders({ rawHeaders } as IncomingMessage);

describe('readKeyHeaders', () => {
  it('reads every value of both headers, in any case', () => {
    expect(
      read('Authorization', 'Bearer a', 'X-Api-Key', 'b', 'AUTHORIZATION', 'Bearer c', 'x-api-key', 'd'),
    ).toEqual({
      authorization: ['Bearer a', 'Bearer c'],
      apiKey: ['b', 'd'],
    });
  });

  it('reads nothing else: not a value that looks like a name, nor H6 an underscore', () => {
    expect(
      read(
        'x_api_key',
        'a',
        'x-other',
        'authorization',
        'proxy-authorization',
        'Bearer a',
        'cookie',
        'x-api-key=a',
      ),
    ).toEqual({
      authorization: [],
      apiKey: [],
    });
  });

  it('gives the session of a request that has neither, and of no other', () => {
    const session = { holder: 'key_1', binds: () => true };
    const withSession = (...rawHeaders: string[]) => {
      const request = { rawHeaders } as IncomingMessage;
      noteSession(request, session);
      return readKeyHeaders(request).session;
    };
    expect(withSession('cookie', 'a=b')).toBe(session);
    expect(withSession('cookie', 'a=b', 'x-api-key', 'a')).toBeUndefined();
    expect(withSession('Authorization', '')).toBeUndefined();
  });
});
