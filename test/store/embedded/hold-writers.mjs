/** Holds the lock of writers of an environment until its standard input ends. */
import { readSync } from 'node:fs';
import { open } from 'lmdb';

const form = { noSubdir: false, encoding: 'binary', keyEncoding: 'binary', useVersions: true };
const db = open({ path: process.argv[2], maxReaders: 126, ...form });
db.transactionSync(() => {
  process.stdout.write('held\n');
  readSync(0, Buffer.alloc(1));
});
