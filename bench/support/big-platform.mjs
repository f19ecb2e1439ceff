/** A platform whose by-date reports weigh 30 MB: for `bench/big`. Prints its address when it listens. */
import { createServer } from 'node:http';
import { setPriority } from 'node:os';

// It stands for another machine, and must not take the cores of the one that is measured.
setPriority(0, 10);

const ROWS_PER_DAY = 2000;
const NAME = 'A campaign with a name of ordinary length';
const bodies = new Map();

function bodyOf(from, to) {
  const key = `${from}/${to}`;
  const known = bodies.get(key);
  if (known !== undefined) return known;
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  const rows = [];
  for (let day = 0; day < days; day++) {
    const date = new Date(Date.parse(from) + day * 86_400_000).toISOString().slice(0, 10);
    for (let row = 0; row < (days > 3 ? ROWS_PER_DAY : 10); row++) {
      rows.push(
        `{"date":"${date}","campaign_id":${1000 + row},"campaign_name":"${NAME} ${row}","advertiser_id":1,"currency":"USD","impressions":${row * 7 + day},"clicks":${row},"spent":"${row}.2500","reach":${row * 3}}`,
      );
    }
  }
  const body = Buffer.from(`{"data":[${rows.join(',')}]}`);
  bodies.set(key, body);
  return body;
}

const server = createServer((request, response) => {
  const query = new URL(request.url, 'http://platform').searchParams;
  const body = bodyOf(query.get('dateFrom'), query.get('dateTo'));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));
