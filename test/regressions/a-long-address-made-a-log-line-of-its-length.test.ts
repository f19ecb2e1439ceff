/** Where a report or what is passed through was asked for, the whole path went to the log, of whoever asked. */
import { expect, it } from 'vitest';
import { withGateway } from '../support/start-gateway.js';

it.each(['/api/v1/report/', '/api/v1/', '/'])('a path below %s is cut where a line ends', async (below) => {
  const gateway = await withGateway();
  const { statusCode } = await gateway.data.inject({ url: below + 'a'.repeat(4000) });
  expect([401, 404]).toContain(statusCode);
  const line = gateway.log.findLast(({ msg, plane }) => msg === 'request' && plane === 'data');
  expect(line?.path).toHaveLength(256);
});
