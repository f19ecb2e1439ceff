/** Records of pins as earlier releases wrote them: the writing half of `old-pin-bytes.ts` and of `oldPins` of the stores. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { deflateBody } from '../../../src/reports/rows/segments.js';
import { openEnvironment } from '../../../src/store/embedded/environment.js';
import { createTable } from '../../../src/store/embedded/table.js';
import { withControl } from '../../store/redis/open-store.js';
import { createTestLog } from '../../store/test-log.js';

export interface OldRows {
  readonly bytes: Buffer;
  readonly facts: Buffer;
}

export interface OldRecords {
  readonly index?: Buffer;
  readonly rows?: ReadonlyMap<string, OldRows>;
}

export type PutOld = (owner: string, records: OldRecords) => Promise<void>;

/** Without the last three members. */
const HEADER_BYTES = 79;

/** With all members as facts, as if none fitted the binary header. */
export function oldRows(id: string, { header, body }: Entry<RowsHeader>): OldRows {
  const version = header.fetchStartedAt;
  const facts = Buffer.from(JSON.stringify(header));
  const stored = deflateBody(body);
  const head = Buffer.alloc(HEADER_BYTES);
  head[0] = 3;
  head[7] = stored === body ? 0 : 1;
  head.writeUInt32BE(body.length, 29);
  head.writeUInt32BE(crc32(body), 33);
  head.writeUInt32BE(crc32(stored), 37);
  const sum = crc32(`${id} ${version}:3:${HEADER_BYTES}`, crc32(facts));
  head.writeUInt32BE(crc32(head.subarray(5), sum), 1);
  const front = Buffer.alloc(7);
  front.writeUIntBE(version, 0, 6);
  front[6] = HEADER_BYTES;
  return { bytes: Buffer.concat([front, digestOf(facts), head, stored]), facts };
}

const digestOf = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest().subarray(0, 16);

export const putInRedis =
  (url: string): PutOld =>
  (owner, { index, rows = new Map() }) =>
    withControl(url, async (control) => {
      const hash = `dgw:1:pins:{${owner}}:2000-01`;
      await control.zadd('dgw:1:pins', 0, `2000-01 ${owner}`);
      if (index !== undefined)
        await control.hset(hash, '01', Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 7]), index]));
      for (const [name, { bytes, facts }] of rows)
        await control.hset(hash, `01:${name}`, bytes, `f:${digestOf(facts).toString('hex')}`, facts);
    });

/** @param dataDir of a store, which may be open in this process */
export const putInFolder =
  (dataDir: string): PutOld =>
  async (owner, { index, rows = new Map() }) => {
    const folder = join(dataDir, 'history');
    const options = { folder, mapBytes: 2 ** 26, durable: true, logger: createTestLog() };
    const environment = await openEnvironment(options);
    const key = (letter: string, rest: string) =>
      Buffer.concat([Buffer.from(letter), digestOf(owner), Buffer.from(rest)]);
    await createTable(environment).change((draft) => {
      draft.set(Buffer.concat([Buffer.from('M2000-01'), digestOf(owner)]), Buffer.from(owner));
      if (index !== undefined) draft.set(key('H', '2000-01-01'), index);
      for (const [name, { bytes, facts }] of rows) {
        draft.set(key('C', `2000-01-01:${name}`), bytes);
        draft.set(key('F', `2000-01:${digestOf(facts).toString('hex')}`), facts);
      }
    });
    await environment.close();
  };
