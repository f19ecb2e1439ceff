/**
 * A cached hit, beside what else could answer it: requests a second and CPU time a request, of one server on one
 * core, in alternating rounds. 256 different reports, 8 teams, 64 connections; half of the requests accept gzip;
 * everything on, the log included. With --logless the gateway also runs without it, which shows the cost of the lines.
 *
 * Usage: npm run build && npm run bench:hit -- [--seconds 3] [--rounds 3] [--only NAME,…] [--logless] [--json]
 */
import { parseArgs } from 'node:util';
import { HIT_CASES, startPeers } from './support/hit-peers.mjs';
import { temporaryFolder } from './support/processes.mjs';
import { load } from './support/wrk.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    logless: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const folder = temporaryFolder();
const say = (line) => process.stderr.write(`${line}\n`);

/** Rounds alternate, so that what else the machine does falls on all alike. */
async function measure({ title, days, headers }) {
  const { peers, missing, stop } = await startPeers({
    folder,
    days,
    headers,
    only: values.only?.split(','),
    logless: values.logless,
  });
  const results = new Map(peers.map(({ name }) => [name, []]));
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const peer of peers) {
      const one = await load({
        ...peer,
        headers: headers.map((list) => ({ ...list, ...peer.headers })),
        folder,
        seconds: Number(values.seconds),
      });
      // The first round warms up.
      if (round > 0) results.get(peer.name).push(one);
      say(
        `${title} · ${peer.name}: ${one.rps.toFixed(0)} requests/s, ${one.cpuUs.toFixed(1)} µs of CPU${one.failed > 0 ? `, ${one.failed} failed` : ''}`,
      );
    }
  }
  await stop();
  return { title, missing, rows: [...results].map(([name, all]) => ({ name, ...middle(all) })) };
}

function middle(all) {
  const of = (member) => all.map((one) => one[member]).sort((a, b) => a - b)[Math.floor(all.length / 2)];
  return {
    rps: of('rps'),
    cpuUs: of('cpuUs'),
    p99Ms: of('p99Ms'),
    failed: Math.max(...all.map(({ failed }) => failed)),
  };
}

const tell = (line) => process.stdout.write(`${line}\n`);

function print({ title, rows, missing }) {
  const [plain, proxy] = ['node:http', 'nginx'].map((name) => rows.find((row) => row.name === name));
  tell(`\n${title}\n`);
  tell('| Server | CPU µs | requests/s | p99 ms | rps / node:http | efficiency / nginx |');
  tell('|---|--:|--:|--:|--:|--:|');
  for (const { name, rps, cpuUs, p99Ms } of rows) {
    const ratio = (value) => (value === undefined ? '–' : value.toFixed(2));
    tell(
      `| ${name} | ${cpuUs.toFixed(1)} | ${rps.toFixed(0)} | ${p99Ms.toFixed(1)} | ${ratio(plain && rps / plain.rps)} | ${ratio(proxy && proxy.cpuUs / cpuUs)} |`,
    );
  }
  for (const one of missing) tell(`\nNot measured: ${one}`);
}

const all = [];
for (const one of HIT_CASES) all.push(await measure(one));
if (values.json) tell(JSON.stringify(all));
else all.forEach(print);
