import { describe, expect, it } from 'vitest';
import { nearPath, nearReport } from '../../../src/api/http/not-found.js';

const KNOWN = ['/', '/healthz', '/readyz', '/gateway/v1/me', '/openapi.json', '/docs', '/docs/errors'];

describe('an address at which there is nothing', () => {
  it.each([
    ['/me', '/gateway/v1/me'],
    ['/v1/me', '/gateway/v1/me'],
    ['/gateway/me', '/gateway/v1/me'],
    ['/gateway/v2/me', '/gateway/v1/me'],
    ['/Gateway/v1/me/', '/gateway/v1/me'],
    ['/healtz', '/healthz'],
    ['/health', '/healthz'],
    ['/ready', '/readyz'],
    ['/swagger', '/docs'],
    ['/doc', '/docs'],
    ['/swagger.json', '/openapi.json'],
    ['/errors/invalid_query', '/docs/errors'],
  ])('%s is near %s', (path, near) => {
    expect(nearPath(path, KNOWN)).toBe(near);
  });

  it.each(['/', '/wp-login.php', '/favicon.ico', '/x', '/gateway/v1/metrics', '/admin/v1/teams'])(
    '%s is near none',
    (path) => {
      expect(nearPath(path, KNOWN)).toBeUndefined();
    },
  );

  it.each([
    ['/report/campaigns/get', '/api/v1/report/campaigns/get'],
    ['/v1/report/campaigns/get', '/api/v1/report/campaigns/get'],
    ['/api/report/campaigns/get', '/api/v1/report/campaigns/get'],
    ['/reports/campaigns/get/', '/api/v1/report/campaigns/get'],
  ])('%s means the report %s', (path, report) => {
    expect(nearReport(path)).toBe(report);
  });

  it.each(['/report', '/report/', '/reporting/x', `/report/${'x'.repeat(200)}`])(
    '%s means no report',
    (path) => {
      expect(nearReport(path)).toBeUndefined();
    },
  );
});
