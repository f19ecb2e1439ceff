/** The audit trail, newest first. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { isIsoDate } from '../config/rules.js';
import { type FieldFault, GatewayError } from '../errors.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import type { Store } from '../store/port.js';
import { AuditRecord } from '../telemetry/audit.js';

const MAX_LIMIT = 1000;

/** Ids of entries, by the kind of store that gives them. */
const IDS: Readonly<Record<Store['kind'], RegExp>> = {
  embedded: /^\d{1,15}$/,
  redis: /^\d{1,20}-\d{1,20}$/,
};

const ShownEntry = Type.Object(
  { id: Type.String(), ...AuditRecord.schema.properties },
  { title: 'AuditEntry', description: 'Without secrets.' },
);

const OPERATION: Operation = {
  id: 'listAudit',
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_LIMIT, description: 'How many; 100 when not given.' }),
    ),
    before: Type.Optional(Type.String({ description: 'The id of an entry: those before it.' })),
    action: Type.Optional(
      Type.String({ description: 'Only this action, e.g. token.activate, or all of a kind, e.g. token.' }),
    ),
    actor: Type.Optional(Type.String({ description: 'Only what this one did: the name of an admin token.' })),
    search: Type.Optional(
      Type.String({ description: 'Only entries that have this text anywhere, however it is written.' }),
    ),
    team: Type.Optional(Type.String({ description: 'Only changes of this team and of its keys.' })),
    since: Type.Optional(
      Type.String({ description: 'Only what was done at this time or later: an ISO date or time.' }),
    ),
  }),
  answers: {
    200: json(
      Type.Object({
        entries: Type.Array(ShownEntry),
        next: Type.Union([Type.String(), Type.Null()], {
          description: 'What to give as before for the next page; null: there is none.',
        }),
      }),
      'Entries, newest first.',
    ),
  },
  problems: ['invalid_query', 'not_ready'],
};

export function registerAudit(
  app: FastifyInstance,
  { kind, registry }: Pick<Store, 'kind' | 'registry'>,
): void {
  app.get(
    '/admin/v1/audit',
    shownAs('audit', 'Who changed what, newest first', OPERATION),
    async (request) => {
      const query = request.query as AuditQuery;
      const errors = faultsOf(query, kind);
      if (errors.length > 0) throw new GatewayError('invalid_query', { errors });
      return findEntries(registry, query);
    },
  );
}

/** As it came; each member is one text once {@link faultsOf} has found nothing. */
interface AuditQuery {
  readonly limit?: string;
  readonly before?: string;
  readonly action?: string;
  readonly team?: string;
  readonly since?: string;
  readonly actor?: string;
  readonly search?: string;
}

type Entry = AuditRecord & { readonly id: string };

/** What is sought may be rare, so the trail is read on until enough is found. */
async function findEntries(
  registry: Store['registry'],
  query: AuditQuery,
): Promise<{ readonly entries: readonly Entry[]; readonly next: string | null }> {
  const { limit = '100', action, team, since, actor, search } = query;
  const sought = [action, team, since, actor, search].some((one) => one !== undefined);
  const found: Entry[] = [];
  // One more than is wanted tells whether there is another page.
  for (let before = query.before; found.length <= Number(limit); ) {
    const lines = await registry.readAudit(sought ? MAX_LIMIT : Number(limit) + 1, before);
    const entries = lines.map(({ id, text }) => ({ ...AuditRecord.read(text, `audit/${id}`), id }));
    found.push(...entries.filter((entry) => isSought(entry, query)));
    before = entries.at(-1)?.id;
    const isLast = before === undefined || isBefore(entries.at(-1), since);
    if (isLast) break;
  }
  const entries = found.slice(0, Number(limit));
  return { entries, next: found.length > entries.length ? (entries.at(-1)?.id ?? null) : null };
}

function isSought(entry: Entry, { action, team, since, actor, search }: AuditQuery): boolean {
  if (isBefore(entry, since)) return false;
  if (actor !== undefined && entry.actor !== actor) return false;
  if (search !== undefined && !folded(JSON.stringify(entry)).includes(folded(search))) return false;
  if (action !== undefined && entry.action !== action && !entry.action.startsWith(`${action}.`)) return false;
  return team === undefined || isAbout(entry, team);
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** A team itself, or one of its keys. */
function isAbout({ action, subject, before, after }: Entry, team: string): boolean {
  if (action.startsWith('team.')) return subject === team;
  return [before, after].some((state) => (state as { teamId?: unknown } | undefined)?.teamId === team);
}

function isBefore(entry: Entry | undefined, since: string | undefined): boolean {
  return entry !== undefined && since !== undefined && Date.parse(entry.at) < Date.parse(since);
}

function faultsOf(
  { limit = '100', before, action, team, since, actor, search }: AuditQuery,
  kind: Store['kind'],
): FieldFault[] {
  const isText = (value: unknown, form: RegExp) =>
    value === undefined || (typeof value === 'string' && form.test(value));
  const faults: FieldFault[] = [];
  if (!isText(limit, /^[1-9][0-9]{0,3}$/) || Number(limit) > MAX_LIMIT)
    faults.push({ param: 'limit', message: `must be a whole number from 1 to ${MAX_LIMIT}` });
  if (!isText(before, IDS[kind]))
    faults.push({ param: 'before', message: 'must be the id of an entry, as this list gives it, once' });
  if (!isText(action, /^[a-z]+(\.[a-zA-Z_-]+)?$/))
    faults.push({ param: 'action', message: 'must be an action such as token.activate, or its kind: token' });
  if (!isText(team, /^[a-z0-9-]{1,40}$/))
    faults.push({ param: 'team', message: 'must be the id of a team, given once' });
  for (const [param, text] of Object.entries({ actor, search }))
    if (!isText(text, /^.{1,200}$/su))
      faults.push({ param, message: 'must be a text of 1 to 200 characters, given once' });
  if (since !== undefined && !(typeof since === 'string' && isIsoDate(since)))
    faults.push({
      param: 'since',
      message: 'must be an ISO date or time, e.g. 2026-11-01 or 2026-11-01T14:00:00Z',
    });
  return faults;
}
