/**
 * A separate process that checks an environment: first its file as bytes, then every record by lmdb, as the gateway
 * will read it. It prints what is wrong, with exit code 1; lmdb may end it by a signal, which shows damage as well.
 */
import { join } from 'node:path';
import { sleep } from '../../lib/time.js';
import { checkDataFile, DataFileDamaged } from './data-file.js';
import { openEnvironment, RecordDamaged, type StoredRecord } from './environment.js';

const AT_ONCE = 1_000;
const LAST = Buffer.of(0xff);

/** @throws DataFileDamaged, RecordDamaged */
async function check(folder: string): Promise<void> {
  const entries = checkDataFile(join(folder, 'data.mdb'));
  const logger = { info() {}, warn() {}, error() {} };
  const environment = await openEnvironment({
    folder,
    mapBytes: 2 ** 20,
    durable: true,
    readOnly: true,
    logger,
  });
  let found = 0;
  let from: Buffer = Buffer.of(0);
  for (;;) {
    const bounds = { from, to: LAST, limit: AT_ONCE };
    const records: StoredRecord[] = environment.read((view) => view.range(bounds));
    found += records.length;
    const last = records.at(-1);
    if (last === undefined) break;
    from = Buffer.concat([last.key, Buffer.of(0)]);
    await sleep(0);
  }
  if (found !== entries) throw new DataFileDamaged(`${found} of ${entries} records can be read`);
  await environment.close();
}

try {
  await check(process.argv[2] ?? '');
} catch (error) {
  if (!(error instanceof DataFileDamaged || error instanceof RecordDamaged)) throw error;
  process.stdout.write(error.message);
  process.exitCode = 1;
}
