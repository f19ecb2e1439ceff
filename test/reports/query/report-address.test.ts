import { expect, it } from 'vitest';
import { readReportAddress } from '../../../src/reports/query/platform-call.js';

const NAMED = { endpoint: 'campaigns/get', query: 'advertiserId=1&byDate=1' };

it.each([
  'https://gateway.example/api/v1/report/campaigns/get?advertiserId=1&byDate=1',
  'HTTP://127.0.0.1:8080/api/v1/report/campaigns/get?advertiserId=1&byDate=1#chart',
  'https://platform.example/base/api/v1/report/campaigns/get?advertiserId=1&byDate=1',
  '/api/v1/report/campaigns/get?advertiserId=1&byDate=1',
  'http://x/gateway/v1/explain?endpoint=campaigns%2Fget&query=advertiserId%3D1%26byDate%3D1',
  '/admin/v1/cache/explain?query=advertiserId%3D1%26byDate%3D1&endpoint=campaigns/get',
])('%s names its report', (address) => {
  expect(readReportAddress(address)).toEqual(NAMED);
});

it('a query alone says no endpoint, and neither does an address of the gateway with a query', () => {
  for (const text of [
    'advertiserId=1&byDate=1',
    '?advertiserId=1&byDate=1',
    'http://x?advertiserId=1&byDate=1',
  ])
    expect(readReportAddress(text)).toEqual({ ...NAMED, endpoint: null });
  expect(readReportAddress('/api/v1/report/campaigns/get')).toEqual({ endpoint: 'campaigns/get', query: '' });
});

it.each([
  'https://gateway.example/api/v1/campaign/get?id=1',
  '/gateway/v1/me?x=1',
  '/gateway/v1/explain?query=advertiserId%3D1',
  'https://example.com/report/campaigns/get?advertiserId=1',
])('%s is the address of something else', (address) => {
  expect(readReportAddress(address)).toBeNull();
});
