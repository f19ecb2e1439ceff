/**
 * Commits for as long as it lives, four at a time, and says so of each once it is acknowledged.
 * Arguments: the folder; after how many bytes the journal is written anew.
 */
import { lockFolder } from '../../../dist/store/embedded/folder-lock.js';
import { openJournalRegistry } from '../../../dist/store/embedded/journal-registry.js';

const [folder, rewriteAfterBytes] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const lock = await lockFolder(folder, { logger });
const registry = await openJournalRegistry({
  folder,
  lock,
  logger,
  limits: { auditMax: 1_000_000, tombstonesMax: 10 },
  rewriteAfterBytes: Number(rewriteAfterBytes),
});
let next = (await registry.load()).version;

async function commitForever() {
  for (;;) {
    next += 1;
    const number = next;
    const writes = new Map([[`r${number % 50}`, `${number}`.padEnd(number % 300)]]);
    const { version } = await registry.commit({ writes, audit: [`line ${number}`] });
    process.stdout.write(`${number} ${version}\n`);
  }
}

await Promise.all([1, 2, 3, 4].map(commitForever));
