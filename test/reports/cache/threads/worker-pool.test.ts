/** What is read, encoded and formatted on other threads, to the same as in place, and what is worth it. */

import { readdir, readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { decodeEntry, encodeEntry, type RawEntry } from '../../../../src/reports/cache/entry.js';
import { readAnswer, tableAnswer } from '../../../../src/reports/cache/threads/tasks.js';
import {
  createWorkerPool,
  isHeavyToEncode,
  isHeavyToFormat,
  isHeavyToRead,
  isHeavyToTable,
} from '../../../../src/reports/cache/threads/worker-pool.js';
import type { DigestOutcome, RowBlock } from '../../../../src/reports/rows/digest.js';
import { bodyHash, ROW_SEPARATOR } from '../../../../src/reports/rows/entry.js';
import { toCsv, toNdjson } from '../../../../src/reports/rows/row-formats.js';
import { ASK, inPieces, largeAnswer, MIB, TOKEN } from './large-answer.js';

const workerPool = createWorkerPool();
afterAll(() => workerPool.close());

const LARGE = largeAnswer(1.25 * MIB);
const isShared = ({ buffer }: Uint8Array) => buffer instanceof SharedArrayBuffer;

/** An outcome with its bodies by their digests: millions of bytes are compared at once, and not one by one. */
function brief(outcome: DigestOutcome) {
  if (outcome.kind !== 'digest') return outcome;
  const { whole, days, ...rest } = outcome.digest;
  const short = <T extends RowBlock>({ body, ...block }: T) => ({
    ...block,
    size: body.length,
    is: bodyHash(body),
  });
  return { ...rest, whole: whole === null ? null : short(whole), days: days?.map(short) ?? null };
}

describe('an answer of more than 1 MiB', () => {
  it('is read on another thread to what it is read to in place, byte for byte', async () => {
    const { outcome, bytes, hash } = await workerPool.digest(inPieces(LARGE, 100_003), ASK, TOKEN);
    expect(brief(outcome)).toEqual(brief(readAnswer(LARGE, ASK, TOKEN)));
    if (outcome.kind !== 'digest') throw new Error(outcome.reason);
    const { days, whole } = outcome.digest;
    // The memory of its rows is taken once, for the whole and for its days.
    const memory = new Set([whole, ...(days ?? [])].map((block) => block?.body.buffer));
    expect([...memory].map((one) => one?.byteLength)).toEqual([whole?.body.length]);
    expect(bytes.equals(LARGE)).toBe(true);
    expect(hash).toBe(bodyHash(LARGE));
    // What comes from another thread lies in memory of both.
    expect(isShared(bytes)).toBe(true);
    const ask = { ...ASK, whole: false };
    const cut = await workerPool.digest([LARGE], ask, TOKEN);
    expect(brief(cut.outcome)).toEqual(brief(readAnswer(LARGE, ask, TOKEN)));
    expect([cut.hash, cut.bytes.length]).toEqual(['', 0]);
  });

  it.runIf(process.platform === 'linux')('is read by a thread that gives way to the others', async () => {
    await workerPool.digest(inPieces(LARGE, 1_000_003), ASK, TOKEN);
    const threads = await readdir('/proc/self/task');
    // The 17th field behind the name in parentheses (proc_pid_stat(5): nice is the 19th of all).
    const niceOf = async (thread: string) => {
      const text = await readFile(`/proc/self/task/${thread}/stat`, 'utf8');
      return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
    };
    const nices = await Promise.all(threads.map(niceOf));
    const own = await niceOf(String(process.pid));
    // However nice the process itself is; 19 is the nicest.
    expect(nices).toContain(Math.min(19, own + 10));
  });

  it('has days written otherwise than the whole where their own rows are of another type', async () => {
    // Whole numbers on the first day, which the other day makes texts of where both stand together.
    const odd = LARGE.toString().replace(
      /"campaign_id":(\d+)(?=,[^{]*"spent":"[^"]*"}\])/,
      '"campaign_id":"x$1"',
    );
    const body = Buffer.from(odd);
    const { outcome } = await workerPool.digest([body], ASK, TOKEN);
    expect(brief(outcome)).toEqual(brief(readAnswer(body, ASK, TOKEN)));
    if (outcome.kind !== 'digest') throw new Error(outcome.reason);
    const joined = (outcome.digest.days ?? []).map(({ body: day }) => day.length);
    expect(joined.reduce((sum, length) => sum + length, 0)).not.toBe(
      (outcome.digest.whole?.body.length ?? 0) - ROW_SEPARATOR.length,
    );
  });

  it.each<[string, string]>([
    ['by escapes', `"note":"${TOKEN.replaceAll('/', '\\/').replaceAll('"', '\\u0022')}"`],
    ['in the name of a member', `${JSON.stringify(TOKEN)}:1`],
  ])('is refused when it holds the token %s, also across two entries', async (_how, member) => {
    const tail = Buffer.from(`,${member}}`);
    const poisoned = Buffer.concat([LARGE.subarray(0, -1), tail]);
    const middle = poisoned.length - Math.floor(tail.length / 2);
    const entries = [poisoned.subarray(0, middle), poisoned.subarray(middle)];
    const { outcome } = await workerPool.digest(entries, ASK, TOKEN);
    expect(outcome).toEqual({ kind: 'invalid', reason: 'the answer contains the platform token' });
  });

  it('is not JSON, or without rows, as it would be in place', async () => {
    const broken = LARGE.subarray(0, -1);
    expect((await workerPool.digest([broken], ASK, TOKEN)).outcome).toEqual(readAnswer(broken, ASK, TOKEN));
    const rowless = Buffer.from(`{"data":{"advertiser_id":7,"text":"${'x'.repeat(MIB)}"}}`);
    const { outcome, bytes } = await workerPool.digest([rowless], ASK, TOKEN);
    expect(outcome).toMatchObject({ kind: 'no-rows', accounts: ['7'] });
    expect(bytes.equals(rowless)).toBe(true);
  });

  it('is one of several at once, and each gets its own', async () => {
    const answers = [1, 2, 3].map((times) => largeAnswer(MIB + times * 1000));
    const read = await Promise.all(answers.map((answer) => workerPool.digest([answer], ASK, TOKEN)));
    expect(read.map(({ bytes }, at) => bytes.equals(answers[at] as Buffer))).toEqual(answers.map(() => true));
  });
});

it('a small answer is read in place, to the same', async () => {
  const small = largeAnswer(10_000);
  const { outcome, bytes, hash } = await workerPool.digest(inPieces(small, 777), ASK, TOKEN);
  expect(outcome).toEqual(readAnswer(small, ASK, TOKEN));
  expect([bytes.equals(small), hash, isShared(bytes)]).toEqual([true, bodyHash(small), false]);
  const poisoned = Buffer.from(`[{"date":"2026-11-01","x":${JSON.stringify(TOKEN)}}]`);
  expect((await workerPool.digest([poisoned], ASK, TOKEN)).outcome.kind).toBe('invalid');
});

it('entries are encoded alike on both sides of the limit, each in its place', async () => {
  const entries = [10, MIB, 0, MIB + 1].map((size, at) => ({
    id: `day ${at}`,
    version: at,
    header: { at, name: '東' },
    body: Buffer.alloc(size, at),
  }));
  const encoded = await workerPool.encode(entries);
  for (const [at, entry] of entries.entries()) {
    const { id, version, header, body } = entry;
    const bytes = encoded[at] as Buffer;
    expect(bytes.equals(encodeEntry(entry))).toBe(true);
    const read = (await decodeEntry(id, { version, bytes })) as RawEntry;
    expect(read.header).toEqual(header);
    expect(read.body.equals(body)).toBe(true);
  }
  const small = entries.slice(0, 1);
  expect(await workerPool.encode(small)).toEqual(small.map(encodeEntry));
});

describe('20,000 short rows', () => {
  const rows = Array.from({ length: 20_000 }, (_, at) => `{"date":"2026-11-01","id":${at},"clicks":1}`);

  it('are read and formatted on another thread, though they are less than 1 MiB', async () => {
    const body = Buffer.from(`{"data":[${rows.join(',')}]}`);
    expect(body.length).toBeLessThan(MIB);
    const { outcome } = await workerPool.digest([body], ASK, TOKEN);
    if (outcome.kind !== 'digest' || outcome.digest.whole === null) throw new Error('no rows');
    const { body: whole, columns, rowCount } = outcome.digest.whole;
    expect(isShared(whole)).toBe(true);
    const csv = await workerPool.format({ format: 'csv', chunks: [whole], columns, rowCount, bom: false });
    expect(isShared(csv)).toBe(true);
    expect(csv.toString() === toCsv(whole.toString(), columns, { bom: false })).toBe(true);
  });
});

it('entries with little in them and much to say of it are encoded on another thread too', async () => {
  const accounts = Array.from({ length: 2000 }, (_, at) => String(at));
  const entries = Array.from({ length: 92 }, (_, at) => ({
    id: `day ${at}`,
    version: at,
    header: { at, accounts },
    body: Buffer.from('{}'),
  }));
  const encoded = await workerPool.encode(entries);
  expect(encoded.every(isShared)).toBe(true);
  const last = (await decodeEntry('day 91', { version: 91, bytes: encoded[91] as Buffer })) as RawEntry;
  expect(last.header).toEqual({ at: 91, accounts });
});

describe('CSV and NDJSON', () => {
  const rowsOf = (body: Buffer) => {
    const outcome = readAnswer(body, ASK, TOKEN);
    if (outcome.kind !== 'digest' || outcome.digest.whole === null) throw new Error('no rows');
    return outcome.digest.whole;
  };

  it.each([
    ['small', 10_000],
    ['large', 1.25 * MIB],
  ])('of %s reports are what they are in place', async (_size, bytes) => {
    const { body, columns } = rowsOf(largeAnswer(bytes));
    const chunks = inPieces(body, 65_537);
    const text = body.toString();
    for (const bom of [true, false]) {
      const csv = await workerPool.format({ format: 'csv', chunks, columns, rowCount: 1, bom });
      expect(csv.toString() === toCsv(text, columns, { bom })).toBe(true);
    }
    const ndjson = await workerPool.format({ format: 'ndjson', chunks, columns, rowCount: 1, bom: false });
    expect(ndjson.toString() === toNdjson(text)).toBe(true);
  });
});

describe('a table of an answer', () => {
  const chunksOf = (rowCount: number) => {
    const data = Array.from({ length: rowCount }, (_, at) => ({
      id: at,
      name: `Früh ${at} 東京 😀`,
      clicks: 1,
    }));
    return inPieces(Buffer.from(JSON.stringify({ data, meta: { rowCount } })), 100_003);
  };
  const ask = { kind: 'report', columns: null, sort: { column: 'id', order: 'desc' } } as const;
  const page = { caps: { maxRows: 100, maxBytes: 40_000 }, fromRow: 9_900, cursorChars: 300 };

  it('is made on another thread where it is heavy, and is what it would be in place', async () => {
    const there = await workerPool.table({ chunks: chunksOf(10_000), ask, page });
    expect({ kind: 'page', page: there }).toEqual(tableAnswer({ chunks: chunksOf(10_000), ask, page }));
    expect(there).toMatchObject({ totalRows: 10_000, nextRow: null });
  });

  it('is refused with the same error by either', async () => {
    const wrong = { kind: 'report', columns: null, sort: { column: 'nothing' } } as const;
    for (const rowCount of [10, 10_000])
      await expect(workerPool.table({ chunks: chunksOf(rowCount), ask: wrong, page })).rejects.toMatchObject({
        name: 'GatewayError',
        code: 'invalid_query',
        options: { errors: [{ param: 'sort.column' }] },
      });
  });
});

interface Answer {
  readonly rows: number;
  readonly columns: number;
  readonly text: number;
}

/** Rows with the same names, or each with names of its own. */
function answerOf({ rows, columns, text }: Answer, ownNames = false): Buffer {
  const row = (at: number) =>
    `{${Array.from({ length: columns }, (_, column) => `"m${ownNames ? at * columns + column : column}":"${'x'.repeat(text)}"`)}}`;
  return Buffer.from(`{"data":[${Array.from({ length: rows }, (_, at) => row(at))}]}`);
}

const answers = fc.record({
  rows: fc.integer({ min: 1, max: 3000 }),
  columns: fc.integer({ min: 1, max: 12 }),
  text: fc.integer({ min: 0, max: 40 }),
});

const formatTask = ({ rows, columns, text }: Answer, format: 'csv' | 'ndjson') => ({
  format,
  rowCount: rows,
  bom: false,
  chunks: [Buffer.alloc(rows * columns * (text + 6))],
  columns: Array.from({ length: columns }, (_, at) => `m${at}`),
});

describe('what an answer costs', () => {
  it('does not depend on the pieces in which it came', () => {
    fc.assert(
      fc.property(answers, fc.boolean(), fc.integer({ min: 1000, max: 70_000 }), (answer, own, size) => {
        const body = answerOf(answer, own);
        for (const isHeavy of [isHeavyToRead, isHeavyToTable])
          expect(isHeavy(inPieces(body, size))).toBe(isHeavy([body]));
      }),
      { numRuns: 15 },
    );
  });

  it('grows with rows, with columns and with bytes', () => {
    fc.assert(
      fc.property(answers, fc.constantFrom('rows', 'columns', 'text'), (answer, grown) => {
        const more = { ...answer, [grown]: answer[grown as 'rows'] * 2 };
        for (const isHeavy of [isHeavyToRead, isHeavyToTable])
          if (isHeavy([answerOf(answer)])) expect(isHeavy([answerOf(more)])).toBe(true);
        for (const format of ['csv', 'ndjson'] as const)
          if (isHeavyToFormat(formatTask(answer, format)))
            expect(isHeavyToFormat(formatTask(more, format))).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('is more than 5 ms of work from 10,000 cells on, and less below 5,000 of short texts', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const { rows, columns, text } = answer;
        const isHeavy = isHeavyToRead([answerOf(answer)]);
        expect(isHeavyToFormat(formatTask(answer, 'csv'))).toBe(
          rows * columns * 500 + rows * columns * (text + 6) * 15 > 5_000_000,
        );
        if (rows * columns > 10_000) expect(isHeavy).toBe(true);
        if (rows * columns < 5000 && text < 20) expect(isHeavy).toBe(false);
      }),
      { numRuns: 25 },
    );
  });

  it('is told from names too: each that is new makes another shape of rows', () => {
    expect(isHeavyToRead([answerOf({ rows: 1200, columns: 2, text: 1 })])).toBe(false);
    expect(isHeavyToRead([answerOf({ rows: 1200, columns: 2, text: 1 }, true)])).toBe(true);
    // Empty cells of a table count.
    expect(isHeavyToTable([answerOf({ rows: 300, columns: 2, text: 1 })])).toBe(false);
    expect(isHeavyToTable([answerOf({ rows: 300, columns: 2, text: 1 }, true)])).toBe(true);
  });

  it('is the copy of its text where no row is parsed', () => {
    const narrow = { rows: 20_000, columns: 1, text: 0 };
    expect(isHeavyToFormat(formatTask(narrow, 'ndjson'))).toBe(false);
    expect(isHeavyToFormat(formatTask(narrow, 'csv'))).toBe(true);
    expect(isHeavyToFormat({ ...formatTask(narrow, 'ndjson'), fields: ['m0'] })).toBe(true);
    expect(isHeavyToFormat({ ...formatTask(narrow, 'ndjson'), rewrites: [[['m0', 'p']]] })).toBe(true);
  });

  it('counts entries of next to nothing, when they are made ready for the store', () => {
    const entries = (count: number) =>
      Array.from({ length: count }, () => ({ header: { accounts: ['1'] }, body: Buffer.from('{}') }));
    expect(isHeavyToEncode(entries(200))).toBe(false);
    expect(isHeavyToEncode(entries(365))).toBe(true);
  });
});
