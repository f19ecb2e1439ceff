/** What must hold of any answer, whatever was asked. */
import type { Reply } from '../../../support/start-gateway.js';

/** Of these a caller can make something; 500 says that we did not foresee it. */
const FORESEEN_5XX: ReadonlySet<number> = new Set([502, 503, 504]);

/** @returns what is wrong with it; null: nothing */
export function wrongWith({ status, headers, text }: Reply): string | null {
  if (status >= 500 && !FORESEEN_5XX.has(status)) return `answered ${status}: ${text.slice(0, 200)}`;
  if (status < 400 || text === '') return null;
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('application/problem+json'))
    return `answered ${status} as ${type}: ${text.slice(0, 200)}`;
  const problem = JSON.parse(text) as { code?: unknown; status?: unknown };
  return problem.status === status && typeof problem.code === 'string' ? null : `is no problem: ${text}`;
}

/** @returns what is wrong with an answer to a report, besides; null: nothing */
export function wrongReport(reply: Reply): string | null {
  if (reply.status !== 200) return wrongWith(reply);
  const { data } = reply.json<{ data?: unknown }>();
  const isRows = Array.isArray(data) && data.every((row) => typeof row === 'object' && row !== null);
  return isRows ? null : `is no report: ${reply.text.slice(0, 200)}`;
}

/** As long as what is done grows with the length; where each part is held against all others, it grows with its square. */
export function wrongGrowth(shortMs: number, longMs: number, timesAsLong: number): string | null {
  const times = longMs / shortMs;
  if (times <= timesAsLong ** 1.5) return null;
  return `took ${shortMs.toFixed(0)} ms of CPU time, and ${times.toFixed(1)} times that when it was ${timesAsLong} times as long`;
}
