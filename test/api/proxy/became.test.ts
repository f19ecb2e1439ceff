import { describe, expect, it } from 'vitest';
import { certainlyNotExecuted } from '../../../src/api/proxy/became.js';
import { GatewayError } from '../../../src/errors.js';
import type { CallReport } from '../../../src/telemetry/trace.js';

const tried = (...outcomes: CallReport['outcome'][]): CallReport[] =>
  outcomes.map((outcome) => ({
    team: 't',
    method: 'POST',
    outcome,
    status: null,
    durationMs: 1,
    attempt: 1,
  }));
const caused = (cause: unknown) => new GatewayError('upstream_error', { cause });
const system = (code: string, syscall: string) => Object.assign(new Error(code), { code, syscall });

describe('a call that failed', () => {
  it('did nothing when it never had its turn', () => {
    expect(certainlyNotExecuted(new GatewayError('overloaded'), [])).toBe(true);
  });

  it.each<[string, CallReport[], unknown]>([
    ['the credential was refused', tried('credential-refused'), undefined],
    ['it was refused twice', tried('credential-refused', 'credential-refused'), undefined],
    ['the platform wanted to wait', tried('rate-limited'), undefined],
    ['nobody listens', tried('network'), system('ECONNREFUSED', 'connect')],
    ['there is no such name', tried('network'), system('ENOTFOUND', 'getaddrinfo')],
    [
      'connecting took too long',
      tried('network'),
      Object.assign(new Error(), { code: 'UND_ERR_CONNECT_TIMEOUT' }),
    ],
    [
      'who answered is not trusted',
      tried('network'),
      Object.assign(new Error(), { code: 'CERT_HAS_EXPIRED' }),
    ],
    [
      'nobody listens at any address',
      tried('network'),
      new AggregateError([system('ECONNREFUSED', 'connect'), system('ENETUNREACH', 'connect')]),
    ],
    [
      'it was refused, then nobody listened',
      tried('credential-refused', 'network'),
      system('ECONNREFUSED', 'connect'),
    ],
  ])('did nothing when %s', (_name, tries, cause) => {
    expect(certainlyNotExecuted(caused(cause), tries)).toBe(true);
  });

  it.each<[string, CallReport[], unknown]>([
    ['the connection broke', tried('network'), system('ECONNRESET', 'read')],
    ['writing broke', tried('network'), system('EPIPE', 'write')],
    ['the other side closed', tried('network'), Object.assign(new Error(), { code: 'UND_ERR_SOCKET' })],
    ['the cause is not known', tried('network'), undefined],
    [
      'one of the addresses answered',
      tried('network'),
      new AggregateError([system('ECONNREFUSED', 'connect'), system('ECONNRESET', 'read')]),
    ],
    ['no address is told', tried('network'), new AggregateError([])],
    ['time was up', tried('timeout'), undefined],
    ['the platform failed', tried('failed'), undefined],
    ['its answer cannot be read', tried('invalid'), undefined],
    ['its answer was read', tried('answer'), undefined],
    ['an earlier try broke', tried('network', 'network'), system('ECONNREFUSED', 'connect')],
  ])('may have done it when %s', (_name, tries, cause) => {
    expect(certainlyNotExecuted(caused(cause), tries)).toBe(false);
  });
});
