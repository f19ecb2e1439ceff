import { expect } from 'vitest';
import { CATALOGUE } from '../../src/errors/catalogue.js';
import type { Problem } from '../../src/lib/http/problem.js';
import { outcomeOf, type Reply } from '../support/start-gateway.js';

/** A report that every test may ask for. */
export const QUERY = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';

/** Checks what holds of every problem. @returns its status and code */
export function problemIn(reply: Reply): string {
  const problem = reply.json<Problem>();
  expect(problem).toMatchObject({
    type: `/docs/errors/${problem.code}`,
    title: CATALOGUE[problem.code].title,
    status: reply.status,
    requestId: reply.headers['x-request-id'],
    detail: expect.any(String),
    help: expect.stringMatching(/^[A-Z].*\.$/),
  });
  expect(reply.headers['cache-control']).toBe('no-store');
  return outcomeOf(reply);
}
