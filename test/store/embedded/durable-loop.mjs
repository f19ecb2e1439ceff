/**
 * Counts batches and makes, changes and deletes notes for as long as it lives, four at a time, and says of each when
 * it is acknowledged. Arguments: the folder; after how many bytes the journal is written anew; the first number.
 */
import { openFileNotes } from '../../../dist/store/embedded/file-notes.js';
import { lockFolder } from '../../../dist/store/embedded/folder-lock.js';
import { openJournalTallies } from '../../../dist/store/embedded/journal-tallies.js';

const DAY_MS = 24 * 3_600_000;
const [folder, rewriteAfterBytes, first] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const lock = await lockFolder(folder, { logger });
const options = { folder, lock, logger, realTime: () => 0 };
const tallies = await openJournalTallies({ ...options, rewriteAfterBytes: Number(rewriteAfterBytes) });
const notes = await openFileNotes(options);
let next = Number(first);

async function workForever() {
  for (;;) {
    const number = next;
    next += 1;
    const say = (what) => process.stdout.write(`${number} ${what}\n`);
    say('begun');
    const adds = ['all', `book ${number % 7}`].map((book) => ({ book, field: 'calls', by: 1 }));
    await tallies.add(`batch ${number}`, adds, [{ book: 'all', field: 'last', to: number }], DAY_MS);
    say('counted');
    await notes.create(`note ${number}`, 'made', DAY_MS);
    say('made');
    await notes.replace(`note ${number}`, 'made', 'changed', DAY_MS);
    say('changed');
    if (number % 2 === 0) await notes.replace(`note ${number}`, 'changed', null, 0);
    if (number % 2 === 0) say('deleted');
  }
}

await Promise.all([1, 2, 3, 4].map(workForever));
