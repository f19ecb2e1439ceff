/** Who may do what on the admin plane: the whole table. */
import type { AdminRole } from '../config/schema.js';

/** Each may do what those before it may. */
export const RANKS: readonly AdminRole[] = ['viewer', 'operator', 'owner'];

/**
 * The least role for each call. A viewer looks; an operator looks after teams, keys and the cache; an owner
 * holds the platform's credential and the backups, which are all the gateway's secrets, and may erase what does not come
 * back.
 */
export const LEAST_ROLES: Readonly<Record<string, AdminRole>> = {
  'GET /metrics': 'viewer',
  'POST /admin/v1/session': 'viewer',
  'GET /admin/v1/session': 'viewer',
  'DELETE /admin/v1/session': 'viewer',
  'GET /admin/v1/status': 'viewer',
  'GET /admin/v1/teams': 'viewer',
  'GET /admin/v1/teams/:id': 'viewer',
  'GET /admin/v1/teams/:id/keys': 'viewer',
  'GET /admin/v1/teams/:id/write-budgets': 'viewer',
  'GET /admin/v1/keys': 'viewer',
  'GET /admin/v1/token': 'viewer',
  'GET /admin/v1/cache/explain': 'viewer',
  'GET /admin/v1/advertisers': 'viewer',
  'GET /admin/v1/divisibility': 'viewer',
  'GET /admin/v1/finality': 'viewer',
  'GET /admin/v1/truth': 'viewer',
  'GET /admin/v1/usage': 'viewer',
  'GET /admin/v1/series': 'viewer',
  'GET /admin/v1/tail': 'viewer',
  'GET /admin/v1/series/teams': 'viewer',
  'GET /admin/v1/audit': 'viewer',
  'GET /admin/v1/writes': 'viewer',
  'GET /admin/v1/writes/unknown': 'viewer',

  'POST /admin/v1/doctor': 'operator',
  'POST /admin/v1/teams': 'operator',
  'PATCH /admin/v1/teams/:id': 'operator',
  'DELETE /admin/v1/teams/:id': 'operator',
  'POST /admin/v1/teams/apply': 'operator',
  'POST /admin/v1/teams/:id/keys': 'operator',
  'DELETE /admin/v1/keys/:id': 'operator',
  'POST /admin/v1/keys/:id/roll': 'operator',
  'POST /admin/v1/cache/purge': 'operator',
  'POST /admin/v1/writes/stop': 'operator',
  'POST /admin/v1/writes/resume': 'operator',
  'POST /admin/v1/writes/settle': 'operator',
  'PUT /admin/v1/clock': 'operator',

  'POST /admin/v1/history/erase': 'owner',
  'POST /admin/v1/history/accept-empty': 'owner',
  'POST /admin/v1/token/stage': 'owner',
  'POST /admin/v1/token/mint': 'owner',
  'POST /admin/v1/token/verify': 'owner',
  'POST /admin/v1/token/activate': 'owner',
  'POST /admin/v1/token/rollback': 'owner',
  'POST /admin/v1/token/discard': 'owner',
  'POST /admin/v1/token/rotate': 'owner',
  'POST /admin/v1/token/reseal': 'owner',
  'GET /admin/v1/registry/export': 'owner',
  'POST /admin/v1/registry/import': 'owner',
  'POST /admin/v1/store/backup': 'owner',
};

/** @param url the route's pattern. @returns `owner` for what is not in the table */
export function leastRole(method: string, url: string): AdminRole {
  return LEAST_ROLES[`${method === 'HEAD' ? 'GET' : method} ${url}`] ?? 'owner';
}

/** The calls of the table that a role may make. */
export function allowedTo(role: AdminRole): string[] {
  return Object.keys(LEAST_ROLES).filter((call) => isAllowed(role, LEAST_ROLES[call] ?? 'owner'));
}

export function isAllowed(role: AdminRole, least: AdminRole): boolean {
  return RANKS.indexOf(role) >= RANKS.indexOf(least);
}
