/** A Redis of a benchmark's own, and what can be told of it from outside. */
import { Redis } from 'ioredis';
import { freePort, start } from './processes.mjs';

/** @returns its process and its address */
export async function startRedis({ folder, core = null }) {
  const port = await freePort();
  const settings = [
    '--port',
    port,
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const running = start('redis-server', settings.map(String), { core });
  const control = new Redis({ port, maxRetriesPerRequest: null, retryStrategy: () => 50 });
  control.on('error', () => {});
  await control.ping();
  running.child.once('exit', () => control.disconnect());
  return {
    ...running,
    url: `redis://127.0.0.1:${port}`,
    counts: () => countsOf(control),
    sizeOf: (pattern) => sizeOf(control, pattern),
  };
}

/** What it was told so far. */
async function countsOf(control) {
  const text = await control.info('everything');
  const commands = new Map(
    [...text.matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm)].map(([, name, calls]) => [name, Number(calls)]),
  );
  const numberOf = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)[1]);
  return { reads: numberOf('total_reads_processed'), dataBytes: numberOf('used_memory_dataset'), commands };
}

/** Commands between two counts, those of scripts among them, in words: so many for each of `requests`. */
export function commandsOf(before, after, requests) {
  return [...after.commands]
    .map(([name, calls]) => [name, (calls - (before.commands.get(name) ?? 0)) / requests])
    .filter(([, each]) => each >= 0.05)
    .sort(([, a], [, b]) => b - a)
    .map(([name, each]) => `${name} ${each.toFixed(1)}`)
    .join(', ');
}

/** Memory of all keys of a pattern, as Redis counts it, every field looked at. */
async function sizeOf(control, pattern) {
  const names = new Set();
  for await (const batch of control.scanStream({ match: pattern, count: 1000 }))
    for (const name of batch) names.add(name);
  let bytes = 0;
  for (const name of names) bytes += await control.memory('USAGE', name, 'SAMPLES', 0);
  return { keys: names.size, bytes };
}
