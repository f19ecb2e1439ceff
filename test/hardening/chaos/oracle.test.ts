import { beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/ask.js';
import { createOracle, LONGEST_MS, type Oracle, type Question, type Rules } from './oracle.js';

const ROWS = [{ date: '2026-10-01', campaignName: '=Brand, "a"', clicks: 4 }];
const QUESTION: Question = { team: 'one', form: 'json', advertiserId: 1, query: 'q' };

let oracle: Oracle;
let rules: Rules;
beforeEach(() => {
  rules = { mayHave: () => true, mayLack: () => false };
  const sim = { truth: async () => ROWS };
  oracle = createOracle({ sim, secrets: new Set(['s3cret']) }, () => rules);
  oracle.begin(['503 not_ready']);
});

function answerOf(status: number, text: string, headers: Record<string, string> = {}): Answer {
  return { status, headers, text, bytes: Buffer.from(text), json: <T>() => JSON.parse(text) as T };
}

async function judged(answer: Answer | null, question: Partial<Question> = {}, tookMs = 5): Promise<string> {
  const told = { question: { ...QUESTION, ...question }, answer, error: 'gone', sentAt: Date.now(), tookMs };
  await oracle.judge(told);
  return oracle.report.violations.join('\n');
}

const TRUE_ROWS = JSON.stringify({ data: ROWS });

describe('the oracle', () => {
  it('has nothing against true rows, in JSON, in CSV and of a tool', async () => {
    const csv = 'date,campaignName,clicks\r\n2026-10-01,"\'=Brand, ""a""",4\r\n';
    const table = { columns: ['date', 'campaignName', 'clicks'], rows: [['2026-10-01', '=Brand, "a"', 4]] };
    expect(await judged(answerOf(200, TRUE_ROWS))).toBe('');
    expect(await judged(answerOf(200, csv), { form: 'csv' })).toBe('');
    const tool = JSON.stringify({ result: { structuredContent: table } });
    expect(await judged(answerOf(200, tool), { form: 'mcp' })).toBe('');
    expect(oracle.report).toMatchObject({ answers: 3, rows: 3, times: [5, 5, 5] });
  });

  it.each([
    ['other figures', '{"data":[{"date":"2026-10-01","campaignName":"=Brand, \\"a\\"","clicks":5}]}'],
    ['a row less', '{"data":[]}'],
  ])('finds %s', async (_what, text) => {
    expect(await judged(answerOf(200, text))).toContain('wrong rows');
  });

  it('finds an answer that the team may not see, and a refusal of what it may', async () => {
    expect(await judged(answerOf(403, '{"code":"advertiser_forbidden"}'))).toContain('may see it');
    rules = { mayHave: () => false, mayLack: () => true };
    oracle.begin([]);
    expect(await judged(answerOf(200, TRUE_ROWS))).toContain('what the team may not see');
    oracle.begin([]);
    expect(await judged(answerOf(403, '{"code":"advertiser_forbidden"}'))).toBe('');
  });

  it('finds a secret in body or header', async () => {
    expect(await judged(answerOf(503, '{"code":"not_ready","detail":"s3cret"}'))).toContain('a secret');
    oracle.begin(['503 not_ready']);
    expect(await judged(answerOf(503, '{"code":"not_ready"}', { etag: 's3cret' }))).toContain('a secret');
  });

  it('takes the refusals that the fault explains, and no other, nor silence, nor what is too late', async () => {
    expect(await judged(answerOf(503, '{"code":"not_ready"}'))).toBe('');
    expect(await judged(answerOf(200, TRUE_ROWS), {}, LONGEST_MS + 1)).toContain('took');
    oracle.begin([]);
    expect(await judged(answerOf(500, '{"code":"internal_error"}'))).toContain('500 internal_error');
    oracle.begin([]);
    expect(await judged(null)).toContain('no answer: gone');
  });

  it('counts the promise on revoked keys from when the store is back', async () => {
    const deadSince = Date.now() - 60_000;
    expect(await judged(answerOf(401, '{}'), { deadSince })).toBe('');
    oracle.storeIs(true);
    expect(await judged(answerOf(200, TRUE_ROWS), { deadSince })).toBe('');
    oracle.storeIs(false);
    expect(await judged(answerOf(200, TRUE_ROWS), { deadSince })).toBe('');
    expect(oracle.holdsAt(deadSince)).toBeGreaterThan(Date.now());
  });

  it('finds a revoked key that is let in', async () => {
    expect(await judged(answerOf(200, TRUE_ROWS), { deadSince: Date.now() - 60_000 })).toContain(
      'revoked key',
    );
  });
});
