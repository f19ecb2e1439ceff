/** Query parameters by their schema: what is read, and what each fault says. */
import fc from 'fast-check';
import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { readQuery } from '../../../src/api/http/read-query.js';
import type { GatewayError } from '../../../src/errors.js';

const SCHEMA = Type.Object({
  range: Type.Enum(['1h', '24h']),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  from: Type.Optional(Type.String({ format: 'date' })),
  team: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,40}$' })),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 3 })),
});

function faultsOf(given: object) {
  try {
    readQuery(SCHEMA, given);
  } catch (error) {
    const { code, options } = error as GatewayError;
    return { code, errors: options.errors };
  }
  return null;
}

describe('query parameters', () => {
  it('are read as the schema has them; unknown ones are left out', () => {
    const given = { range: '1h', limit: '20', from: '2026-11-01', team: 'a-1', search: 'é😀x', other: 'x' };
    const { other: _, ...known } = given;
    expect(readQuery(SCHEMA, given)).toEqual({ ...known, limit: 20 });
    expect(readQuery(SCHEMA, { range: '24h' })).toEqual({ range: '24h' });
  });

  it.each([
    ['range', {}, 'must be one of 1h, 24h'],
    ['range', { range: '2h' }, 'must be one of 1h, 24h'],
    ['range', { range: ['1h', '1h'] }, 'must be one of 1h, 24h, given once'],
    ['limit', { range: '1h', limit: '0' }, 'must be a whole number from 1 to 1000'],
    ['limit', { range: '1h', limit: '1001' }, 'must be a whole number from 1 to 1000'],
    ['limit', { range: '1h', limit: '1e2' }, 'must be a whole number from 1 to 1000'],
    ['limit', { range: '1h', limit: '' }, 'must be a whole number from 1 to 1000'],
    ['from', { range: '1h', from: '2026-02-30' }, 'must be a calendar day as YYYY-MM-DD'],
    ['team', { range: '1h', team: 'A' }, 'must be the id of a team'],
    ['search', { range: '1h', search: 'long' }, 'must be a text of 1 to 3 characters'],
  ])('%s of %j is refused, with what is allowed', (param, given, message) => {
    expect(faultsOf(given)).toEqual({ code: 'invalid_query', errors: [{ param, message }] });
  });

  it('all faults are named at once', () => {
    expect(faultsOf({ limit: 'x', team: '' })?.errors?.map(({ param }) => param)).toEqual([
      'range',
      'limit',
      'team',
    ]);
  });

  it('a whole number within its bounds is read, and no other text is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: -9, max: 1100 }).map(String), fc.string()), (text) => {
        const isRight = /^[1-9]\d{0,3}$/.test(text) && Number(text) <= 1000;
        expect(faultsOf({ range: '1h', limit: text }) === null).toBe(isRight);
      }),
    );
  });
});
