/** A platform answer that is handled on another thread, for its size. */
import type { DigestInput } from '../../../../src/reports/rows/digest.js';

export const MIB = 1_048_576;
export const TOKEN = '42|a/token"of_the-tests';
const PERIOD = { from: '2026-11-01', to: '2026-11-03' };
const DATES = ['2026-11-01', '2026-11-03'];

export const ASK: DigestInput = {
  rule: {},
  period: PERIOD,
  byDate: true,
  splits: true,
  accountPattern: /^(?:user|advertiser)ids?$/,
  whole: true,
};

/** @param bytes about how many; the names hold what a copy by characters would get wrong */
export function largeAnswer(bytes: number): Buffer {
  const rows: string[] = [];
  for (let size = 0, at = 0; size < bytes; at++) {
    const row = JSON.stringify({
      date: DATES[at % 2],
      campaign_id: at,
      campaign_name: `Früh ${at} 東京 😀 "${at % 7}",\n`,
      advertiser_id: 1 + (at % 3),
      spent: (at / 100).toFixed(4),
    });
    rows.push(row);
    size += Buffer.byteLength(row) + 1;
  }
  return Buffer.from(`{"data":[${rows.join(',')}]}`);
}

/** Pieces of a size that cuts characters and rows in two. */
export function inPieces(body: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(body.length / size) }, (_, at) =>
    body.subarray(at * size, (at + 1) * size),
  );
}
