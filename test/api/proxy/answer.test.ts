/** How an answer is passed on, and what may have become of a call that failed. */

import { describe, expect, it } from 'vitest';
import { createAnswerBuffers } from '../../../src/api/proxy/clean-answer.js';
import { createPatience, type Standstill } from '../../../src/api/proxy/read-patience.js';
import { certainlyNotExecuted } from '../../../src/api/proxy/write-outcome.js';
import { GatewayError } from '../../../src/errors.js';
import type { CallReport } from '../../../src/telemetry/trace.js';

const MIB = 1_048_576;

it('never gives more than its total, and has again what was given back', () => {
  const buffers = createAnswerBuffers(2.5 * MIB);
  const given = [buffers.take(null), buffers.take(MIB), buffers.take(200_000)];
  expect(given.map(({ bytes }) => bytes)).toEqual([MIB + 65_536, MIB + 65_536, 265_536]);
  expect(buffers.take(null).bytes).toBe(0);
  for (const { giveBack } of given) giveBack();
  expect(buffers.taken).toBe(0);
  expect(buffers.take(null).bytes).toBe(MIB + 65_536);
});

it('gives nothing to what needs none, nor to what would not be whole in it', () => {
  const buffers = createAnswerBuffers(100 * MIB);
  for (const length of [0, 65_536, MIB + 1]) expect(buffers.take(length).bytes).toBe(0);
  expect(buffers.taken).toBe(0);
});

describe('read patience', () => {
  const RULES = { silenceMs: 30_000, minBytesPerSecond: 1024, overMs: 30_000 };
  const MIB = 1_048_576;

  /** A body of which the platform has always more; what the caller takes is told second by second. */
  function readerOf(taken: (second: number) => number, seconds: number): Standstill | 'goes on' {
    const judge = createPatience(RULES, 0);
    for (let second = 1; second <= seconds; second++) {
      const soFar = taken(second);
      const progress = { arrived: soFar + 65_536, taken: soFar, full: true, whole: false };
      const standstill = judge(progress, second * 1000);
      if (standstill !== null) return standstill;
    }
    return 'goes on';
  }

  describe('a caller', () => {
    it.each<[string, (second: number) => number, Standstill | 'goes on']>([
      ['who reads nothing is slow', () => 0, 'caller-slow'],
      ['who reads 1 KiB a second is not slow', (second) => second * 1024, 'goes on'],
      ['who reads half of that is slow', (second) => second * 512, 'caller-slow'],
      ['who read much and then nothing is slow', (second) => Math.min(second, 10) * MIB, 'caller-slow'],
      // As a connection shows it that is read with 100 kB a second: a burst, and nothing for a good while.
      [
        'whose reading shows in bursts is not slow',
        (second) => 4 * MIB + Math.floor(second / 16) * 1.5 * MIB,
        'goes on',
      ],
      [
        'whose bursts come further and further apart is not slow while they come',
        (second) => [29, 100, 300].filter((at) => second >= at).length * MIB,
        'goes on',
      ],
    ])('%s', (_what, taken, wanted) => {
      expect(readerOf(taken, 600)).toBe(wanted);
    });

    it('is cut off after thirty seconds, not before', () => {
      expect(readerOf(() => 0, 29)).toBe('goes on');
      expect(readerOf(() => 0, 30)).toBe('caller-slow');
    });

    it('is never slow where there is nothing to read', () => {
      const judge = createPatience(RULES, 0);
      for (let second = 1; second < 29; second++)
        expect(judge({ arrived: 10, taken: 10, full: false, whole: false }, second * 1000)).toBeNull();
    });

    it('is never too slow where the setting says so', () => {
      const judge = createPatience({ ...RULES, minBytesPerSecond: 0 }, 0);
      for (let second = 1; second < 1000; second++)
        expect(judge({ arrived: 10, taken: 0, full: true, whole: true }, second * 1000)).toBeNull();
    });
  });

  describe('a platform', () => {
    it('is silent when nothing comes for the longest silence, though the caller is ready', () => {
      const judge = createPatience(RULES, 0);
      const progress = { arrived: 5, taken: 5, full: false, whole: false };
      expect(judge(progress, 1000)).toBeNull();
      expect(judge(progress, 30_999)).toBeNull();
      expect(judge(progress, 31_000)).toBe('platform-silent');
    });

    it('is not silent while nothing is asked of it, nor when it has said all', () => {
      const judge = createPatience({ ...RULES, overMs: 1_000_000 }, 0);
      expect(judge({ arrived: 5, taken: 0, full: true, whole: false }, 90_000)).toBeNull();
      expect(judge({ arrived: 5, taken: 0, full: false, whole: false }, 119_000)).toBeNull();
      expect(judge({ arrived: 5, taken: 0, full: false, whole: false }, 120_000)).toBe('platform-silent');
      expect(judge({ arrived: 5, taken: 0, full: false, whole: true }, 900_000)).toBeNull();
    });
  });
});

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
const system = (code: string, syscall?: string) => Object.assign(new Error(code), { code, syscall });
const several = (...errors: Error[]) => new AggregateError(errors);
const REFUSED = system('ECONNREFUSED', 'connect');

describe('a call that failed', () => {
  it('did nothing when it never had its turn', () => {
    expect(certainlyNotExecuted(new GatewayError('overloaded'), [])).toBe(true);
  });

  it.each<[string, CallReport[], unknown]>([
    ['the credential was refused', tried('credential-refused'), undefined],
    ['it was refused twice', tried('credential-refused', 'credential-refused'), undefined],
    ['the platform wanted to wait', tried('rate-limited'), undefined],
    ['nobody listens', tried('network'), REFUSED],
    ['there is no such name', tried('network'), system('ENOTFOUND', 'getaddrinfo')],
    ['connecting took too long', tried('network'), system('UND_ERR_CONNECT_TIMEOUT')],
    ['who answered is not trusted', tried('network'), system('CERT_HAS_EXPIRED')],
    ['nobody listens at any address', tried('network'), several(REFUSED, system('ENETUNREACH', 'connect'))],
    ['it was refused, then nobody listened', tried('credential-refused', 'network'), REFUSED],
  ])('did nothing when %s', (_name, tries, cause) => {
    expect(certainlyNotExecuted(caused(cause), tries)).toBe(true);
  });

  it.each<[string, CallReport[], unknown]>([
    ['the connection broke', tried('network'), system('ECONNRESET', 'read')],
    ['writing broke', tried('network'), system('EPIPE', 'write')],
    ['the other side closed', tried('network'), system('UND_ERR_SOCKET')],
    ['the cause is not known', tried('network'), undefined],
    ['one of the addresses answered', tried('network'), several(REFUSED, system('ECONNRESET', 'read'))],
    ['no address is told', tried('network'), several()],
    ['time was up', tried('timeout'), undefined],
    ['the platform failed', tried('failed'), undefined],
    ['its answer cannot be read', tried('invalid'), undefined],
    ['its answer was read', tried('answer'), undefined],
    ['an earlier try broke', tried('network', 'network'), REFUSED],
  ])('may have done it when %s', (_name, tries, cause) => {
    expect(certainlyNotExecuted(caused(cause), tries)).toBe(false);
  });
});
