import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { takeAnswer } from '../../../src/api/proxy/idempotency.js';
import type { IdempotencyOutcome } from '../../../src/api/proxy/idempotency-record.js';

const answered = (body: Readable) => ({ statusCode: 201, headers: { 'content-type': 'text/plain' }, body });
const pieces = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)));
const keptBody = (outcome: IdempotencyOutcome) => (outcome.state === 'answered' ? outcome.answer.body : null);

describe('an answer', () => {
  it('up to the limit is read whole, and can still be sent', async () => {
    const { answer, outcome } = await takeAnswer(answered(pieces('abc', 'de')), 5);
    expect(keptBody(outcome)?.toString()).toBe('abcde');
    expect([answer.statusCode, String(await buffer(answer.body))]).toEqual([201, 'abcde']);
  });

  it('without a body is one of no bytes', async () => {
    const { answer, outcome } = await takeAnswer(answered(Readable.from([])), 5);
    expect([keptBody(outcome)?.length, (await buffer(answer.body)).length]).toEqual([0, 0]);
  });

  it('beyond the limit is streamed to its end, and not kept', async () => {
    const { answer, outcome } = await takeAnswer(answered(pieces('abc', 'def', 'ghi')), 5);
    expect([outcome.state, keptBody(outcome)]).toEqual(['unknown', null]);
    expect(String(await buffer(answer.body))).toBe('abcdefghi');
  });

  it('beyond the limit is let go of when nobody wants the rest', async () => {
    const body = pieces('abc', 'def', 'ghi');
    const { answer } = await takeAnswer(answered(body), 5);
    for await (const piece of answer.body) {
      expect(String(piece)).toBe('abc');
      break;
    }
    if (!body.closed) await once(body, 'close');
    expect(body.destroyed).toBe(true);
  });

  it('that breaks off is an error, before and beyond the limit', async () => {
    const broken = () =>
      Readable.from(
        (async function* () {
          yield Buffer.from('abc');
          throw new Error('broken off');
        })(),
      );
    await expect(takeAnswer(answered(broken()), 5)).rejects.toThrow('broken off');
    const { answer } = await takeAnswer(answered(broken()), 2);
    await expect(buffer(answer.body)).rejects.toThrow('broken off');
  });
});
