/**
 * A platform that answers by-date reports at once, or after a while: 5 campaigns a day, 0.9 kB of JSON a day.
 * Prints its address when it listens. Environment: DELAY_MS (0).
 */
import { createServer } from 'node:http';

const DELAY_MS = Number(process.env.DELAY_MS ?? 0);
const CAMPAIGNS = 5;
const DAY_MS = 86_400_000;

function rowsOf(advertiser, from, to) {
  const rows = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    const date = new Date(at).toISOString().slice(0, 10);
    for (let n = 1; n <= CAMPAIGNS; n++) {
      const seen = ((at / DAY_MS) * 31 + n * 977 + advertiser * 13) % 90_000;
      rows.push({
        date,
        campaign_id: 1000 + n,
        campaign_name: `Campaign ${n}: autumn, prospecting`,
        advertiser_id: advertiser,
        currency: 'USD',
        impressions: seen,
        clicks: seen % 700,
        spent: (seen / 133).toFixed(4),
        reach: seen >> 1,
      });
    }
  }
  return rows;
}

const server = createServer((request, response) => {
  const query = new URL(request.url, 'http://platform').searchParams;
  const rows = rowsOf(Number(query.get('advertiserId')), query.get('dateFrom'), query.get('dateTo'));
  const body = Buffer.from(JSON.stringify({ data: rows }));
  const answer = () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  };
  if (DELAY_MS === 0) answer();
  else setTimeout(answer, DELAY_MS);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));
