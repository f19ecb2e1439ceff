/**
 * Commits, counts, keeps days, makes, changes and deletes documents for as long as it lives, four at a time, and says of each when it
 * is begun and when it is acknowledged. Arguments: the folder; a name of its own; its first number.
 */
import { createClock } from '../../../dist/modules/lib/clock.js';
import { createEmbeddedStore } from '../../../dist/modules/store/embedded/embedded-store.js';

const DAY_MS = 24 * 3_600_000;
const [dataDir, name, first] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const options = { dataDir, cacheMaxBytes: 1024, clock: createClock(), logger, auditMax: 1_000_000 };
const { registry, counters, days, documents } = await createEmbeddedStore(options);
let next = Number(first);

/** Adds a part to a month, whose index lists all of its parts. */
async function keepDay(number) {
  const place = { series: `${name} ${number % 3}`, month: '2026-03' };
  const body = Buffer.alloc((number % 4) * 40_000, `${number} `);
  const change = {
    named: new Map(),
    dropped: [],
    ttlMs: null,
    earlier: new Map([[1 + (number % 31), body]]),
  };
  let [month] = await days.read(place.series, [{ month: place.month, days: [] }]);
  for (;;) {
    const index = Buffer.from(JSON.stringify([...JSON.parse(month?.index ?? '[]'), number]));
    const parts = new Map([[`n${number}`, body]]);
    const [lost] = await days.write([{ ...place, ...change, stamp: month?.stamp ?? 0, index, parts }]);
    if (lost === null) return;
    month = lost === 'none' ? null : lost;
  }
}

async function workForever() {
  for (;;) {
    const number = next;
    next += 1;
    const say = (what) => process.stdout.write(`${number} ${what}\n`);
    say('begun');
    const writes = new Map([[`${name} ${number % 50}`, `${number}`.padEnd(number % 300)]]);
    const { version } = await registry.commit({ writes, audit: [`${name} ${number}`] });
    say(`version ${version}`);
    const adds = ['all', `group ${number % 7}`].map((group) => ({ group, field: 'calls', by: 1 }));
    await counters.add(`${name} ${number}`, adds, [{ group: 'all', field: 'last', to: number }], DAY_MS);
    say('counted');
    await keepDay(number);
    say('kept');
    await documents.create(`${name} ${number}`, 'made', DAY_MS);
    say('made');
    await documents.replace(`${name} ${number}`, 'made', 'changed', DAY_MS);
    say('changed');
    if (number % 2 === 0) await documents.replace(`${name} ${number}`, 'changed', null, 0);
    if (number % 2 === 0) say('deleted');
  }
}

await Promise.all([1, 2, 3, 4].map(workForever));
