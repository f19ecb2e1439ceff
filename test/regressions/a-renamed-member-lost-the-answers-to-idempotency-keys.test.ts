/**
 * The member that says what became of a write was renamed in the stored record too: after an upgrade no key that was
 * used before was answered again, and while two releases ran side by side neither could read the other's records.
 */
import { expect, it } from 'vitest';
import { readRecord, writeRecord } from '../../src/api/proxy/idempotency-record.js';

/** As releases before the rename write it. */
const EARLIER = {
  owner: '1e6c5f0e-0c5b-4a53-9c0f-2f4a5b0f7e11',
  request: 'fingerprint',
  canonical: 'meaning',
  atMs: 1_795_000_000_000,
  fate: {
    state: 'answered',
    answer: { status: 201, headers: { 'content-type': 'application/json' }, body: 'e30=' },
  },
};

it('reads what releases before it wrote, and writes what they read', () => {
  const record = readRecord(JSON.stringify(EARLIER));
  expect(record?.outcome).toMatchObject({ state: 'answered', answer: { body: Buffer.from('{}') } });
  expect(record === null ? null : JSON.parse(writeRecord(record))).toEqual(EARLIER);
});
