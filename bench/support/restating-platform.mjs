/** A platform in this process whose every number becomes another when it is told to: `restate()`. */
import { createServer } from 'node:http';

const DAY_MS = 86_400_000;

/** @param campaigns rows of a day in a report by campaign; one in a report by date alone */
export async function startRestatingPlatform({ campaigns }) {
  let revision = 0;
  const server = createServer((request, response) => {
    const query = new URL(request.url, 'http://platform').searchParams;
    const body = Buffer.from(JSON.stringify({ data: rowsOf(query, campaigns, revision) }));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    restate() {
      revision += 1;
    },
    close: () => server.close(),
  };
}

function rowsOf(query, campaigns, revision) {
  const advertiser = Number(query.get('advertiserId'));
  const isSplit = query.get('byCampaign') === '1';
  const rows = [];
  for (let at = Date.parse(query.get('dateFrom')); at <= Date.parse(query.get('dateTo')); at += DAY_MS) {
    const date = new Date(at).toISOString().slice(0, 10);
    for (let n = 1; n <= (isSplit ? campaigns : 1); n++) {
      const chance = scramble(scramble(at / DAY_MS + n * 977) + advertiser * 131_071);
      // A revision is a little more of the same.
      const seen = 1000 + (chance % 90_000) + revision * (1 + (chance % 97));
      const campaign = { campaign_id: 1000 + n, campaign_name: `Campaign ${n}: autumn, prospecting` };
      rows.push({
        date,
        ...(isSplit ? campaign : {}),
        advertiser_id: advertiser,
        currency: 'USD',
        impressions: seen,
        clicks: Math.floor((seen * (1 + (chance % 89))) / 9000),
        spent: (seen / (100 + (chance % 71))).toFixed(4),
        reach: Math.floor((seen * (300 + (chance % 500))) / 1000),
      });
    }
  }
  return rows;
}

function scramble(value) {
  let bits = (value + 0x9e3779b9) | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
