/** The audit trail, newest first. */
import type { FastifyInstance } from 'fastify';
import { isIsoDate } from '../../config/values.js';
import { type FieldFault, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { didYouMean, meantName } from '../../lib/near-name.js';
import type { Store } from '../../store/port.js';
import { AuditRecord } from '../../telemetry/audit.js';
import { AUDIT_ACTIONS, toldOf } from '../operations/audit-sentence.js';
import type { RequestTypes } from '../operations/operation.js';
import { AUDIT_PAGE_MAX, listAudit } from '../operations/overview.js';
import { serve } from './serve.js';

/** Format of entry ids by kind of store. */
const IDS: Readonly<Record<Store['kind'], RegExp>> = {
  embedded: /^\d{1,15}$/,
  redis: /^\d{1,20}-\d{1,20}$/,
};

export function registerAudit(
  app: FastifyInstance,
  { kind, registry }: Pick<Store, 'kind' | 'registry'>,
): void {
  serve(app, listAudit, async ({ query }) => {
    const errors = faultsOf(query, IDS[kind]);
    if (errors.length > 0) throw invalidQuery(...errors);
    return findEntries(registry, query);
  });
}

function faultsOf({ before, since, action }: AuditQuery, ids: RegExp): FieldFault[] {
  const faults: FieldFault[] = [];
  if (before !== undefined && !ids.test(before))
    faults.push(mustBe('before', 'the id of an entry of this list'));
  if (since !== undefined && !isIsoDate(since))
    faults.push(mustBe('since', 'an ISO date or time, e.g. 2026-11-01 or 2026-11-01T14:00:00Z'));
  if (action !== undefined && !isKnown(action)) faults.push(unknownAction(action));
  return faults;
}

const GROUPS = [...new Set(AUDIT_ACTIONS.map((action) => action.replace(/\..*/, '')))];

const isKnown = (action: string) => AUDIT_ACTIONS.includes(action) || GROUPS.includes(action);

function unknownAction(action: string): FieldFault {
  const [group = ''] = action.split('.');
  const near = meantName(action, [...AUDIT_ACTIONS, ...GROUPS]);
  if (near !== undefined)
    return { param: 'action', message: `is no action: ${didYouMean(near)}`, help: `Send ${near}.` };
  const known = GROUPS.includes(group) ? AUDIT_ACTIONS.filter((one) => one.startsWith(`${group}.`)) : GROUPS;
  return mustBe('action', `one of ${known.join(', ')}`);
}

type AuditQuery = RequestTypes<typeof listAudit>['Querystring'];
type Entry = AuditRecord & { readonly id: string };

/** Matches may be rare, so entries are read until enough are found. */
async function findEntries(registry: Store['registry'], query: AuditQuery) {
  const { limit = 100, action, team, since, actor, search } = query;
  const sought = [action, team, since, actor, search].some((one) => one !== undefined);
  const found: Entry[] = [];
  // One more than the limit shows whether there is another page.
  for (let before = query.before; found.length <= limit; ) {
    const lines = await registry.readAudit(sought ? AUDIT_PAGE_MAX : limit + 1, before);
    const entries = lines.map(({ id, text }) => ({ ...AuditRecord.read(text, `audit/${id}`), id }));
    found.push(...entries.filter((entry) => isSought(entry, query)));
    before = entries.at(-1)?.id;
    const isLast = before === undefined || isBefore(entries.at(-1), since);
    if (isLast) break;
  }
  const entries = found.slice(0, limit);
  return { entries, next: found.length > entries.length ? (entries.at(-1)?.id ?? null) : null };
}

function isSought(entry: Entry, { action, team, since, actor, search }: AuditQuery): boolean {
  if (isBefore(entry, since)) return false;
  if (actor !== undefined && entry.actor !== actor) return false;
  if (search !== undefined && !isIn(entry, folded(search))) return false;
  if (action !== undefined && entry.action !== action && !entry.action.startsWith(`${action}.`)) return false;
  return team === undefined || isAbout(entry, team);
}

/** In the record, or in what is shown of it. */
const isIn = (entry: Entry, text: string) =>
  [JSON.stringify(entry), toldOf(entry)].some((one) => folded(one).includes(text));

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** About the team itself, or one of its keys. */
function isAbout({ action, subject, before, after }: Entry, team: string): boolean {
  if (action.startsWith('team.')) return subject === team;
  return [before, after].some((state) => (state as { teamId?: unknown } | undefined)?.teamId === team);
}

function isBefore(entry: Entry | undefined, since: string | undefined): boolean {
  return entry !== undefined && since !== undefined && Date.parse(entry.at) < Date.parse(since);
}
