import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cacheHeaders, entityTag, isNotModified, type Validators } from '../../../src/reports/cache/reply.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const STATUS = { outcome: 'hit', tier: 'l1', stored: false, degraded: false, days: null } as const;

function headers(validators: Partial<Validators> = {}, status: object = {}) {
  const all: Validators = {
    tag: 'T',
    asOfMs: NOW - 10_000,
    freshUntilMs: NOW + 50_000,
    meansUntilMs: Number.POSITIVE_INFINITY,
    keep: true,
    ...validators,
  };
  return cacheHeaders(all, 'identity', { ...STATUS, ...status }, NOW);
}

describe('cacheHeaders', () => {
  it('says how old it is, and how long a caller may keep it: its age and what is left', () => {
    expect(headers()).toMatchObject({
      etag: '"T"',
      age: '10',
      'cache-control': 'private, max-age=60',
      'cache-status': 'dsp-gateway; hit; ttl=50; detail=l1',
      vary: 'accept, accept-encoding, authorization, x-api-key',
    });
  });

  it('lets a caller keep it no longer than the question means the same', () => {
    const { 'cache-control': cacheControl, 'cache-status': status } = headers({ meansUntilMs: NOW + 20_000 });
    expect([cacheControl, status]).toEqual(['private, max-age=30', 'dsp-gateway; hit; ttl=50; detail=l1']);
    expect(headers({ meansUntilMs: NOW - 1 })).toMatchObject({ 'cache-control': 'private, max-age=10' });
  });

  it('past its freshness, lets a caller keep it no longer, and says by how much', () => {
    expect(headers({ freshUntilMs: NOW - 40_000 }, { outcome: 'stale-if-error' })).toMatchObject({
      age: '10',
      'cache-control': 'private, max-age=10',
      'cache-status': 'dsp-gateway; hit; ttl=-40; detail=stale-if-error',
    });
  });

  it('passes on that an answer must not be kept', () => {
    expect(headers({ keep: false })['cache-control']).toBe('private, no-store');
  });

  it('never says a negative age, nor a max-age below the age', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e7, max: 1e9 }),
        fc.integer({ min: -1e9, max: 1e9 }),
        (ageMs, leftMs) => {
          const { age, 'cache-control': control } = headers({
            asOfMs: NOW - ageMs,
            freshUntilMs: NOW + leftMs,
          });
          const maxAge = Number(/max-age=(\d+)$/.exec(control as string)?.[1]);
          expect(Number(age)).toBe(Math.max(0, Math.floor(ageMs / 1000)));
          expect(maxAge).toBe(Number(age) + Math.max(0, Math.floor(leftMs / 1000)));
        },
      ),
    );
  });
});

describe('entityTag', () => {
  it('tells the codings of one answer apart', () => {
    const tags = (['identity', 'gzip', 'br', 'zstd'] as const).map((coding) => entityTag('T', coding));
    expect(tags).toEqual(['"T"', '"T-gzip"', '"T-br"', '"T-zstd"']);
  });
});

describe('isNotModified', () => {
  it.each([
    ['"T"', true],
    ['W/"T"', true],
    ['"T-gzip"', false],
    ['"T-br"', false],
    ['W/"T-zstd"', false],
    ['"x", "T"', true],
    ['"x","T-gzip" , "y"', false],
    ['*', true],
    [' * ', true],
    ['"x"', false],
    ['T', false],
    ['"t"', false],
    ['"T-deflate"', false],
    ['"T', false],
    ['', false],
    [undefined, false],
  ])('%j: %s', (header, expected) => {
    expect(isNotModified(header, 'T', 'identity')).toBe(expected);
  });

  it('knows every tag it gave, also those that end like a coding', () => {
    const tag = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}(-gzip|-br)?$/);
    fc.assert(
      fc.property(tag, fc.constantFrom('identity', 'gzip', 'br', 'zstd'), (given, coding) => {
        expect(isNotModified(entityTag(given, coding), given, coding)).toBe(true);
      }),
    );
    expect(isNotModified('"T"', 'T-br', 'br')).toBe(false);
    expect(isNotModified('"T-gzip"', 'T', 'br')).toBe(false);
  });
});
