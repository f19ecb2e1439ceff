/** Which writes a rule lets pass, and what it says of those that it does not. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError, JsonObject, parseJson } from '../../../src/reports/rows/json.js';
import {
  type Check,
  checksumOf,
  checkWrite,
  type WriteFacts,
} from '../../../src/teams/write-guard/check-write.js';
import type { GuardRule } from '../../../src/teams/write-guard/rule.js';
import { RULE } from '../../support/campaign.js';
import { amountsInQuery, amountsRead, list, object, raw, type Sent, textOf } from './lenient-platform.js';

const HONEST = { name: 'x', userId: 1, budget: { total: 900, daily: 50 }, bid: 0.5, currency: 'EUR' };

function bodyOf(text: string): JsonObject | string {
  try {
    const body = parseJson(text);
    return body instanceof JsonObject ? body : 'no object';
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

const judge = (text: string, more: Partial<WriteFacts> = {}, rule: GuardRule = RULE) =>
  checkWrite(rule, { query: [], hasIdempotencyKey: true, body: bodyOf(text), ...more });
const refused = ({ checks }: { checks: readonly Check[] }) => checks.filter(({ passed }) => !passed);
const changed = (more: object) => JSON.stringify({ ...HONEST, ...more });

describe('an honest write', () => {
  it('passes every check, and its amount is what is reserved', () => {
    const { checks, amount } = judge(JSON.stringify(HONEST));
    expect(refused({ checks })).toEqual([]);
    expect(checks.map(({ rule }) => rule)).toEqual([
      'query',
      'requireIdempotencyKey',
      'body',
      'names',
      'allowFields',
      'budget.currency',
      'budget.maxPerCall',
      'amounts.0.max',
      'amounts.1.max',
    ]);
    expect(amount).toBe(900_000_000);
  });

  it.each(['1000', '1e3', '1000.000', '10000e-1', '0'])('may name its amount as %s', (amount) => {
    expect(refused(judge(JSON.stringify(HONEST).replace('900', amount)))).toEqual([]);
  });
});

describe('a write is refused, with rule, value and limit, when', () => {
  it.each<[string, object | string, string, string?, string?]>([
    [
      'it costs too much',
      { budget: { total: 1200.5, daily: 1 } },
      'budget.maxPerCall',
      'body.budget.total is 1200.5 EUR',
      'at most 1000 EUR',
    ],
    ['another amount is too high', { bid: 5.000001 }, 'amounts.1.max', 'body.bid is 5.000001', 'at most 5'],
    [
      'the amount is missing',
      { budget: { daily: 1 } },
      'budget.maxPerCall',
      'body.budget.total is missing',
      'an amount of 0 to 1000 EUR',
    ],
    ['the amount is a text', { bid: '5' }, 'amounts.1.max', 'body.bid is "5", not a number'],
    ['the amount is negative', { bid: -1 }, 'amounts.1.max', 'body.bid is -1, which is negative'],
    [
      'a list is on the way to it',
      { budget: [{ total: 1, daily: 1 }] },
      'budget.maxPerCall',
      'body.budget is a list, not an object',
    ],
    ['it is in another currency', { currency: 'USD' }, 'budget.currency', 'body.currency is "USD"', 'EUR'],
    ['its currency is missing', { currency: undefined }, 'budget.currency', 'body.currency is missing'],
    [
      'a field is not allowed',
      { status: 'on' },
      'allowFields',
      '"status"',
      'name, userId, budget, bid, currency',
    ],
    ['a name is dotted', { 'budget.total': 9999 }, 'names', '"budget.total"'],
    ['a name holds what cannot be seen', { 'b\u200bid': 9999 }, 'names', '"b\\u200bid"'],
    ['a name is drawn as another', { bіd: 9999 }, 'names', '"b\\u0456d"'],
    [
      'a name changes what objects are',
      JSON.stringify(HONEST).replace('"name"', '"__proto__"'),
      'names',
      '"__proto__"',
    ],
    ['a name is another’s in capitals', { BID: 9999 }, 'names', '"BID"', 'no name similar to body.bid'],
    ['a name further in looks like one', { budget: { total: 1, Total: 9999, daily: 1 } }, 'names', '"Total"'],
    ['it is no object', '[1]', 'body', 'no object', 'one JSON object'],
    ['a member is there twice', `{"bid":1,"bid":2}`, 'body'],
  ])('%s', (_, given, rule, value, limit) => {
    const expected = { rule, ...(value && { value }), ...(limit && { limit }) };
    const text = typeof given === 'string' ? given : changed(given);
    expect(refused(judge(text))).toContainEqual(expect.objectContaining(expected));
  });

  it('numbers are beyond all limits', () => {
    for (const amount of ['1e999', '1e9999999999', '9'.repeat(400)]) {
      const found = refused(judge(JSON.stringify(HONEST).replace('900', amount)));
      expect(found).toMatchObject([
        { rule: 'budget.maxPerCall', value: expect.stringContaining('too large') },
      ]);
    }
  });

  it('it has a query, or no idempotency key', () => {
    const found = refused(
      judge(JSON.stringify(HONEST), { query: ['budget[total]'], hasIdempotencyKey: false }),
    );
    expect(found).toMatchObject([
      { rule: 'query', value: '"budget[total]"' },
      { rule: 'requireIdempotencyKey', value: 'none' },
    ]);
  });

  it('its amount cannot be read, though only the day has a limit', () => {
    const rule: GuardRule = { budget: { field: 'body.total', maxPerDay: 5 } };
    expect(refused(judge('{"total":"1"}', {}, rule))).toMatchObject([{ rule: 'budget.field' }]);
    expect(judge('{"total":1.5}', {}, rule)).toMatchObject({ amount: 1_500_000 });
  });
});

const PATH = ['budget', 'total'];
/** Numbers as they may be written, around the limit and far beyond it. */
const number = fc.oneof(
  fc.constantFrom('0', '999.9999999', '1000', '1e3', '1000.0000000001', '1001', '1e999', '-5', '-0', '1E+4'),
  fc.double({ min: 0, max: 5000, noNaN: true }).map((value) => JSON.stringify(value)),
);
const amount: fc.Arbitrary<Sent> = fc.oneof(
  { weight: 3, arbitrary: number.map(raw) },
  number.map((text) => raw(JSON.stringify(text))),
  number.map((text) => list(raw('1'), raw(text))),
  fc.constantFrom(raw('null'), raw('true'), object(), raw('"5000 EUR"')),
);
const alike = (name: string) =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(name) },
    fc.constantFrom(
      name.toUpperCase(),
      `${name[0]?.toUpperCase()}${name.slice(1)}`,
      `${name}\u200b`,
      `\ufeff${name}`,
      `${name} `,
      `${name}[]`,
      `_${name}`,
      name.replace('t', 'т').replace('o', 'о').replace('e', 'е'),
      name.replace(/[a-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
    ),
  );
const joined = fc
  .tuple(alike('budget'), fc.constantFrom('.', '[', '/', '->', ':', '_', '-', ''), alike('total'))
  .map(([left, mark, right]) => `${left}${mark}${right}${mark === '[' ? ']' : ''}`);
/** Members that smuggle: each an attempt to have an amount read that was not checked. */
const smuggled: fc.Arbitrary<readonly [string, Sent]> = fc.oneof(
  fc.tuple(
    alike('budget'),
    fc.tuple(alike('total'), amount).map((member) => object(member)),
  ),
  fc.tuple(
    alike('budget'),
    fc
      .array(
        fc.tuple(alike('total'), amount).map((member) => object(member)),
        { maxLength: 2 },
      )
      .map((items) => list(...items)),
  ),
  fc.tuple(joined, amount),
  fc.tuple(fc.constantFrom('name', '__proto__', 'other'), amount),
);

describe('whatever is smuggled', () => {
  const rule: GuardRule = { budget: { field: 'body.budget.total', maxPerCall: 1000 } };
  const total = fc.oneof({ weight: 3, arbitrary: number.map(raw) }, amount);
  const honest = fc
    .tuple(total, fc.array(fc.tuple(alike('total'), amount), { maxLength: 1 }))
    .map(([value, more]) => ['budget', object(['total', value], ...more)] as const);
  const request = fc.record({
    members: fc
      .tuple(honest, fc.array(smuggled, { maxLength: 2 }), fc.boolean())
      .map(([first, others, isLast]) => (isLast ? [...others, first] : [first, ...others])),
    query: fc.array(fc.tuple(fc.oneof(joined, alike('total')), number), { maxLength: 1 }),
  });

  it('no reader finds a higher amount than the limit in a write that passes; a refusal has rule, value, limit', () => {
    let passed = 0;
    fc.assert(
      fc.property(request, ({ members, query }) => {
        const sent = object(...members);
        const judged = judge(textOf(sent), { query: query.map(([name]) => name) }, rule);
        for (const one of refused(judged)) {
          expect(one.rule).toMatch(/^[a-zA-Z.0-9]+$/);
          expect(one.value).toMatch(/^[\x20-\x7e…]+$/);
          expect(one.limit).not.toBe('');
        }
        if (refused(judged).length > 0) return;
        passed += 1;
        const read = [...amountsRead(sent, PATH), ...amountsInQuery(query, PATH)];
        expect(read.length).toBeGreaterThan(0);
        expect(Math.max(...read)).toBeLessThanOrEqual(1000);
        expect(Math.max(...read)).toBeLessThanOrEqual((judged.amount ?? 0) / 1e6);
      }),
      { numRuns: 600 },
    );
    expect(passed).toBeGreaterThan(5);
  });

  it('a name that is there twice below one in other letters is refused in ASCII', () => {
    const [one] = refused(judge('{"ｂｕｄｇｅｔ":{"a":1,"a":2}}'));
    expect(one?.value).toMatch(
      /^a duplicate member name at position \d+, below \$\["\\uff42[\x20-\x7e]+"\]$/,
    );
  });
});

it('is another one for another team, method, path, query or byte', () => {
  const of = {
    team: 'growth',
    method: 'POST',
    target: '/api/v1/campaign/create',
    body: Buffer.from('{"a":1}'),
  };
  const all = [
    of,
    { ...of, team: 'growth2' },
    { ...of, method: 'PUT' },
    { ...of, target: '/api/v1/campaign/create?a=1' },
    { ...of, body: Buffer.from('{"a": 1}') },
    { ...of, body: null },
  ].map(checksumOf);
  expect(new Set(all).size).toBe(all.length);
  expect(checksumOf({ ...of })).toBe(all[0]);
  expect(all[0]).toMatch(/^sha256:[A-Za-z0-9_-]{43}$/);
});
