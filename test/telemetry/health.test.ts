import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEALTH_PARTS, type Measured } from '../../src/telemetry/conditions.js';
import {
  addLoads,
  createHealth,
  type Health,
  type ProcessHealth,
  readProcessHealth,
  worstOf,
} from '../../src/telemetry/health.js';
import { measured } from '../support/measured.js';

const LOAD = { l1Bytes: 0, l1Entries: 0, callsRunning: 0, callsQueued: 0 };
const open = (changes: Partial<Measured> = {}, id = 'me'): Health =>
  createHealth(
    id,
    () => measured(changes),
    () => ({ tokenId: null, tokenSince: null }),
  );
const AWAY: Partial<Measured> = { store: { kind: 'redis', health: () => ({ ok: false }) } };
const other = (changes: Partial<ProcessHealth> = {}): ProcessHealth => ({
  id: 'other',
  host: 'far',
  pid: 2,
  version: '0.1.0',
  store: 'ok',
  credential: 'ok',
  platform: 'ok',
  tokenId: null,
  tokenSince: null,
  ...LOAD,
  ...changes,
});

describe('the health of a process', () => {
  it('is well while nothing is wrong', () => {
    expect(open().own()).toMatchObject({ store: 'ok', credential: 'ok', platform: 'ok', pid: process.pid });
  });

  it('tells the worst of what a part has, as it is now', () => {
    let [leftMs, isOpen] = [2500, true];
    const health = open({
      pause: { leftMs: () => leftMs },
      circuit: {
        get isOpen() {
          return isOpen;
        },
        leftMs: () => 7000,
      },
    });
    expect(health.own().platform).toBe('failing; asked again in 7 s');
    isOpen = false;
    expect(health.own().platform).toBe('paused for 3 s');
    leftMs = 0;
    expect(health.own().platform).toBe('ok');
  });

  it('is told though one part cannot be read', () => {
    const health = open({
      outlook: () => {
        throw new Error('the vault does not open');
      },
      pause: { leftMs: () => 900 },
    });
    expect(health.own()).toMatchObject({ credential: 'unknown', platform: 'paused for 1 s' });
  });
});

describe('the health of all processes', () => {
  it('is the worst of each part, whoever has it', () => {
    const health = open(AWAY);
    health.hear(() => [other({ credential: 'refused' }), other({ id: 'third', credential: 'expiring' })]);
    expect(health.worst()).toEqual({ store: 'away', credential: 'refused', platform: 'ok' });
    expect(health.own()).toMatchObject({ credential: 'ok' });
  });

  it('has each process once, by the way that was added last, and itself by its own eyes', () => {
    const health = open();
    health.hear(() => [other({ store: 'away' }), other({ id: 'me', store: 'away' })]);
    health.hear(() => [other({ store: 'ok' })]);
    expect(health.processes().map(({ id, store }) => [id, store])).toEqual([
      ['me', 'ok'],
      ['other', 'ok'],
    ]);
  });

  it('adds up what they hold', () => {
    const loads = [1, 20, 300].map((n) => ({ l1Bytes: n, l1Entries: n, callsRunning: n, callsQueued: n }));
    expect(addLoads(loads)).toEqual({ l1Bytes: 321, l1Entries: 321, callsRunning: 321, callsQueued: 321 });
    expect(addLoads([])).toEqual(LOAD);
  });

  it('takes a text it does not know for the worst: a newer version knows of something it does not', () => {
    expect(worstOf('store', ['away', 'lost in a way of next year', 'ok'])).toBe('lost in a way of next year');
    expect(worstOf('credential', ['unproven', 'expiring', 'expired', 'refused', 'missing', 'ok'])).toBe(
      'missing',
    );
    expect(worstOf('platform', [])).toBe('ok');
  });
});

describe('what another process said of itself', () => {
  it('is read back as it was written', () => {
    const health = open(AWAY, 'one');
    expect(readProcessHealth(JSON.stringify(health.own()))).toEqual(health.own());
  });

  it('is read from an older version that tells less, and a newer one that tells more', () => {
    expect(readProcessHealth('{"id":"a","store":"away","disk":"full","l1Bytes":5}')).toEqual({
      ...other({ id: 'a', host: '', pid: 0, version: '', store: 'away', l1Bytes: 5 }),
    });
    // Before, a process told its number alone.
    for (const text of ['4711', '', '{"id":7}', 'null', '[]']) expect(readProcessHealth(text)).toBeNull();
  });

  it('is never more than it may be, whatever it is', () => {
    const anything = fc.jsonValue();
    const told = fc
      .record(
        { id: fc.string(), host: anything, store: anything, credential: anything, platform: anything },
        { requiredKeys: ['id'] },
      )
      .map((record) => JSON.stringify(record));
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), told), (text) => {
        const read = readProcessHealth(text);
        expect(read === null || HEALTH_PARTS.every((part) => typeof read[part] === 'string')).toBe(true);
      }),
    );
  });
});
