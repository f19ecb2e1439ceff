/** A body of 100 kB, nested 58 deep, held a process for 43 seconds: each level looked at all that is below it. */
import { describe, expect, it } from 'vitest';
import { accountLookalikes } from '../../src/reports/query/account-lookalikes.js';
import { ACCOUNT_PATTERN_SOURCE } from '../../src/reports/query/accounts.js';
import { type Json, parseJson } from '../../src/reports/rows/json.js';

const RULES = { accountFields: ['advertiserId'], accountPattern: new RegExp(ACCOUNT_PATTERN_SOURCE) };
const ITEMS = 500;
const DEPTH = 58;

/** How often it was asked whose a number is, and what looks like an account. */
function lookInto(value: Json) {
  let asked = 0;
  const isOwn = (account: string) => {
    asked += 1;
    return account === '1';
  };
  const found = accountLookalikes([{ name: 'x', value, asks: true }], RULES, { isOwn, bareIds: true });
  return { asked, found };
}

function nested(wrap: (inner: string) => string, innermost = '1'): string {
  let text = `[${Array(ITEMS).fill(innermost).join()}]`;
  for (let depth = 0; depth < DEPTH; depth += 1) text = wrap(text);
  return text;
}

describe('a look for accounts of others asks about each number a few times, however deep it stands', () => {
  it.each<[string, (inner: string) => string]>([
    ['below what is chosen by', (inner) => `{"by":"advertiser","k":${inner}}`],
    ['in lists with a field', (inner) => `["user",${inner}]`],
    ['below ids', (inner) => `{"ids":${inner}}`],
  ])('%s', (_where, wrap) => {
    const { asked, found } = lookInto(parseJson(nested(wrap)));
    expect(found).toEqual([]);
    expect(asked).toBeLessThan(ITEMS * 5);
    expect(lookInto(parseJson(nested(wrap, '2'))).found).toEqual(['x']);
  });

  it('in a text that is encoded many times over', () => {
    const text = nested((inner) => `{"by":"advertiser","k":${inner},"z":"%252525252541"}`);
    expect(lookInto(text).asked).toBeLessThan(ITEMS * 5 * 8);
  });
});

it('what is longer than any question, once decoded, is refused', () => {
  const text = `%25252525${'a'.repeat(600_000)}`;
  expect(lookInto(text).found).toEqual(['x']);
  expect(lookInto('a'.repeat(600_000)).found).toEqual([]);
});

it('accounts in accounts are no question, beyond a few', () => {
  const within = (times: number) => {
    let text = '{"id":1}';
    for (let depth = 0; depth < times; depth += 1) text = `{"advertiser":{"id":1,"k":${text}}}`;
    return lookInto(parseJson(text)).found;
  };
  expect(within(3)).toEqual([]);
  expect(within(20)).toEqual(['x']);
});
