/**
 * What work on an answer costs for a member, a byte, a name and a cell: the numbers of src/reports/cache/threads/worker-pool.ts. The second
 * fastest of 15 runs counts, so that other work on the machine matters little.
 *
 * Usage: npm run build && node bench/cells.mjs
 */
import { encodeEntry } from '../dist/modules/reports/cache/entry.js';
import { formatRows, readAnswer, tableAnswer } from '../dist/modules/reports/cache/threads/tasks.js';

const ROWS = 3000;
const DAY = (at) => `"date":"2026-11-0${1 + (at % 3)}"`;
const SHAPES = {
  short: (at) => `{${DAY(at)},"id":${at},"clicks":1}`,
  usual: (at) =>
    `{${DAY(at)},"campaign_id":${at},"campaign_name":"A campaign with a name of ordinary length ${at}","currency":"USD","impressions":${at * 7},"clicks":${at},"spent":"${at}.2500"}`,
  ascii: (at) => `{${DAY(at)},"text":"${'abc def ghi; '.repeat(30)}"}`,
  umlauts: (at) => `{${DAY(at)},"text":"${'Früh 東京; -x '.repeat(30)}"}`,
  ownNames: (at) => `{${DAY(at)},"m${at}":2}`,
};
const ASK = {
  ...{ rule: {}, period: { from: '2026-11-01', to: '2026-11-03' }, byDate: true, splits: true },
  ...{ accountPattern: /^advertiserids?$/, nonAccounts: [], whole: false },
};
const PAGE = { caps: { maxRows: 200, maxBytes: 40_000 }, fromRow: 0, cursorChars: 200 };

function msOf(work) {
  const times = Array.from({ length: 15 }, () => {
    const from = performance.now();
    work();
    return performance.now() - from;
  });
  return times.sort((a, b) => a - b)[1];
}

const say = (name, ms, count, unit, more = '') =>
  process.stdout.write(
    `${name}: ${ms.toFixed(1)} ms, ${((ms * 1e6) / count).toFixed(0)} ns a ${unit}${more}\n`,
  );

for (const [name, row] of Object.entries(SHAPES)) {
  // Rows of own names are a table of their number squared.
  const rows = Array.from({ length: name === 'ownNames' ? 600 : ROWS }, (_, at) => row(at));
  const answer = Buffer.from(`{"data":[${rows}],"meta":{}}`);
  const columns = [...new Set(rows.flatMap((text) => Object.keys(JSON.parse(text))))];
  const task = { chunks: [Buffer.from(rows.join(',\n'))], columns, rowCount: rows.length, bom: false };
  const members = answer.toString().split(',').length;
  const more = `, ${answer.length} bytes`;
  say(
    `${name}, read`,
    msOf(() => readAnswer(answer, ASK, 'a token')),
    members,
    'member',
    more,
  );
  for (const one of [
    { format: 'csv' },
    { format: 'ndjson' },
    { format: 'json', fields: columns.slice(0, 3) },
  ])
    say(
      `${name}, ${one.format}`,
      msOf(() => formatRows({ ...task, ...one })),
      members,
      'member',
      more,
    );
  const ask = { kind: 'report', columns: null, sort: null };
  const table = msOf(() => tableAnswer({ chunks: [answer], ask, page: PAGE }));
  say(`${name}, table`, table, rows.length * columns.length, 'cell', more);
}
for (const [count, bytes] of [
  [365, 300],
  [1, 262_144],
]) {
  const body = Buffer.from(Array.from({ length: bytes / 100 }, (_, at) => SHAPES.usual(at)).join()).subarray(
    0,
    bytes,
  );
  const encode = () => {
    for (let at = 0; at < count; at++) encodeEntry({ id: `${at}`, version: at, header: { at }, body });
  };
  say(`${count} entries of ${bytes} bytes, deflated`, msOf(encode), count, 'entry');
}
