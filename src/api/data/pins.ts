/** Answers that stay: `/gateway/v1/pins`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { GatewayError, invalidQuery } from '../../errors.js';
import { entityTag, isNotModified, VARY } from '../../reports/cache/reply.js';
import type { Gateway } from '../../reports/gateway.js';
import { mayBeSeen, ownerOf, PIN_LIMITS, type Pin, type PinnedRows } from '../../reports/history/pins.js';
import { ANSWER } from '../../reports/query/describe.js';
import { parseQueryText, writeQueryText } from '../../reports/query/given-parameters.js';
import { negotiateFormat } from '../../reports/query/output-options.js';
import { digest } from '../../reports/query/platform-call.js';
import type { ReportReply } from '../../reports/report-call.js';
import { showId } from '../../reports/rows/answer-meta.js';
import { CONTENT_TYPES } from '../../reports/rows/assemble.js';
import { joinEntries } from '../../reports/rows/join-entries.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { checkAdvertiser } from '../../teams/policy/check-advertiser.js';
import { type Answer, json, type Operation, shownToTeams } from '../openapi/operation.js';
import { type AskCall, parseNamed, readAskCall, readParameters } from './ask.js';
import { OWN_HEAD } from './reports.js';

export const PINS_PATH = '/gateway/v1/pins';

export function registerPins(app: FastifyInstance, g: Gateway): void {
  const one = `${PINS_PATH}/:id`;
  const show = async (request: FastifyRequest, reply: FastifyReply) =>
    send(reply, await showPin(g, pinCall(request, reply), idIn(request)));
  app.get(PINS_PATH, shown('The pins of your team', LIST), async (request, reply) =>
    send(reply, await listPins(g, pinCall(request, reply))),
  );
  app.head(one, OWN_HEAD, show);
  app.get(one, shown('An answer that stayed', SHOW), show);
  app.delete(one, shown('Forget a pin', REMOVE), async (request, reply) =>
    send(reply, await removePin(g, pinCall(request, reply), idIn(request))),
  );
}

/** Logged and counted without the id. */
export function pinCall(request: FastifyRequest, reply: FastifyReply): AskCall {
  const read = readAskCall(request, reply);
  request.trace.subject = request.routeOptions.url ?? PINS_PATH;
  return read;
}

const idIn = (request: FastifyRequest) => (request.params as { readonly id: string }).id;

export function send(reply: FastifyReply, { status, headers, body }: ReportReply): FastifyReply {
  reply.code(status).headers(headers);
  if (body === null) return reply.send(undefined);
  const whole = Buffer.concat(body);
  const isHead = reply.request.method === 'HEAD';
  return reply.header('content-length', whole.length).send(isHead ? undefined : whole);
}

export const shown = (summary: string, operation: Operation) => shownToTeams('history', summary, operation);

const NO_STORE = { 'cache-control': 'private, no-store' };
const MOST_LISTED = 100;
const MOMENTS = ['_asOf', '_vintage'];

/** A pin of the team, where the caller may see it. @throws GatewayError 403; `not_found` */
export async function findPin(g: Gateway, caller: Caller, id: string): Promise<PinnedRows> {
  const found = await g.pins.read(ownerOf(caller, g.lives), id);
  if (found === null) throw noPin(id);
  checkAccess(g, caller, found.pin);
  return found;
}

/**
 * As for the report itself, at each reading: an advertiser that was taken from a team is taken from its pins.
 * @throws GatewayError 403
 */
function checkAccess({ parse }: Gateway, caller: Caller, pin: Pin): void {
  if (caller.team.advertisers === '*') return;
  // Which moment was pinned grants nothing, and whether it is one may depend on how it is read.
  const query = writeQueryText(parseQueryText(pin.query).filter(({ name }) => !MOMENTS.includes(name)));
  checkAdvertiser(caller, parseNamed(parse, { endpoint: pin.endpoint, query }, 'raw').access);
  if (mayBeSeen(pin, caller)) return;
  throw new GatewayError('advertiser_forbidden', {
    detail: 'The pin holds rows of an advertiser the team may not see.',
  });
}

async function listPins({ admit, pins, lives }: Gateway, call: AskCall): Promise<ReportReply> {
  const caller = await admit(call);
  const given = readParameters(call.query, ['limit', 'after']);
  const limit = limitOf(given.get('limit'));
  const all = await pins.list(ownerOf(caller, lives));
  const seen = all.filter((pin) => mayBeSeen(pin, caller));
  const after = given.get('after');
  const start = after === undefined ? 0 : seen.findIndex(({ id }) => id === after) + 1;
  if (start === 0 && after !== undefined)
    throw invalidQuery({
      param: 'after',
      message: 'must be the id of a pin, as meta.next of the page before',
    });
  const page = seen.slice(start, start + limit);
  const next = start + limit < seen.length ? (page.at(-1)?.id ?? null) : null;
  const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
  const meta = { count: all.length, bytes, maxCount: PIN_LIMITS.pins, maxBytes: PIN_LIMITS.bytes, next };
  const body = Buffer.from(JSON.stringify({ data: page.map(describePin), meta }));
  return { status: 200, headers: { ...NO_STORE, 'content-type': CONTENT_TYPES.json }, body: [body] };
}

async function showPin(g: Gateway, call: AskCall, id: string): Promise<ReportReply> {
  const caller = await g.admit(call);
  const given = readParameters(call.query, ['_format', '_bom']);
  const format = formatOf(given.get('_format'), call.accept, caller);
  const bom = bomOf(given.get('_bom'), format);
  const { pin, parts } = await findPin(g, caller, id);
  const tag = digest(['pin', id, format, String(bom)]).slice(0, 22);
  const headers = {
    ...{ etag: entityTag(tag, 'identity'), 'cache-control': 'private, no-cache', vary: VARY },
    ...(pin.revision === null ? {} : { 'report-revision': pin.revision }),
  };
  if (isNotModified(call.ifNoneMatch, tag, 'identity')) return { status: 304, headers, body: null };
  call.trace.rows = pin.rowCount;
  const rows = joinEntries(parts);
  const columns = [...new Set(parts.flatMap(({ header }) => header.columns))];
  const formatted = await g.workerPool.format({
    ...{ format, chunks: [rows.body], rewrites: [null], columns, rowCount: pin.rowCount, bom },
  });
  const { id: _, ...known } = describePin(pin);
  const meta = Buffer.from(`],"meta":${JSON.stringify({ pin: id, ...known })}}`);
  const body = format === 'json' ? [Buffer.from('{"data":['), formatted, meta] : [formatted];
  return { status: 200, headers: { ...headers, 'content-type': CONTENT_TYPES[format] }, body };
}

async function removePin({ admit, pins, lives }: Gateway, call: AskCall, id: string): Promise<ReportReply> {
  const caller = await admit(call, 'report:pin');
  readParameters(call.query, []);
  if (!(await pins.remove(ownerOf(caller, lives), id))) throw noPin(id);
  return { status: 204, headers: NO_STORE, body: null };
}

function formatOf(asked: string | undefined, accept: string | undefined, { team }: Caller) {
  if (asked !== undefined && asked !== 'json' && asked !== 'csv' && asked !== 'ndjson')
    throw invalidQuery({ param: '_format', message: 'must be one of json, csv, ndjson' });
  const usual = team.defaultFormat === 'raw' ? 'json' : team.defaultFormat;
  const format = negotiateFormat(asked ?? null, accept, usual);
  if (format !== 'raw') return format;
  throw new GatewayError('not_acceptable', {
    help: 'Accept application/json, text/csv or application/x-ndjson, or use _format.',
  });
}

function bomOf(text: string | undefined, format: string): boolean {
  if (text === undefined || text === '0') return false;
  if (text === '1' && format === 'csv') return true;
  throw invalidQuery({
    param: '_bom',
    message: text === '1' ? 'goes with _format=csv only' : 'must be 1 or 0',
  });
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return MOST_LISTED;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= PIN_LIMITS.pins) return limit;
  throw invalidQuery({ param: 'limit', message: `must be a whole number from 1 to ${PIN_LIMITS.pins}` });
}

function noPin(id: string): GatewayError {
  return new GatewayError('not_found', {
    detail: `The team has no pin ${id.slice(0, 40)}.`,
    help: 'GET /gateway/v1/pins lists the pins of the team.',
  });
}

export function describePin(pin: Pin) {
  const { id, revision, endpoint, query, note, createdAt, account, from, to, split } = pin;
  return {
    id,
    revision,
    endpoint,
    query,
    note,
    createdAt: new Date(createdAt).toISOString(),
    advertiserId: showId(account),
    period: from === null && to === null ? null : { from, to },
    split,
    knownAt: new Date(pin.knownAt).toISOString(),
    final: pin.final,
    rowCount: pin.rowCount,
    bytes: pin.bytes,
  };
}

export const textOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const KNOWN = {
  revision: textOrNull('meta.revision of the report; null for one that is not kept by days.'),
  endpoint: Type.String(),
  query: Type.String({ description: 'With the days that a relative period meant.' }),
  note: textOrNull('As it was given.'),
  createdAt: Type.String({ format: 'date-time' }),
  advertiserId: Type.Union([Type.Integer(), Type.String(), Type.Null()]),
  period: Type.Union([
    Type.Object({ from: textOrNull('First day.'), to: textOrNull('Last day.') }),
    Type.Null(),
  ]),
  split: Type.Array(Type.String()),
  knownAt: Type.String({
    format: 'date-time',
    description: 'When its newest day was fetched, or the moment of _asOf.',
  }),
  final: Type.Boolean({ description: 'Whether every day was final when it was pinned.' }),
  rowCount: Type.Integer(),
  bytes: Type.Integer({ description: "What it takes of the team's room." }),
};
export const PIN = Type.Object({ id: Type.String(), ...KNOWN }, { title: 'Pin' });

const LIST: Operation = {
  id: 'listPins',
  query: Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '100 when not given.' })),
    after: Type.Optional(Type.String({ description: 'meta.next of the page before.' })),
  }),
  answers: {
    200: json(
      Type.Object(
        {
          data: Type.Array(PIN),
          meta: Type.Object({
            count: Type.Integer({
              description: 'Pins of the team, those among them that it may no longer see.',
            }),
            bytes: Type.Integer(),
            maxCount: Type.Integer(),
            maxBytes: Type.Integer(),
            next: textOrNull('Null: there are no more.'),
          }),
        },
        { title: 'Pins' },
      ),
      'The oldest first.',
      ['cache-control'],
    ),
  },
  problems: ['invalid_query', 'scope_missing', 'rate_limited', 'conflict'],
};

const VALIDATORS = ['etag', 'cache-control', 'vary', 'report-revision'] as const;

const SHOWN: Answer = {
  description: 'The rows as they were pinned: data, CSV and NDJSON stay byte for byte.',
  headers: VALIDATORS,
  content: {
    'application/json': Type.Object(
      { data: ANSWER.properties.data, meta: Type.Object({ pin: Type.String(), ...KNOWN }) },
      { title: 'PinnedReport' },
    ),
    'text/csv': Type.String({ description: 'RFC 4180, with a header line.' }),
    'application/x-ndjson': Type.String({ description: 'A row a line.' }),
  },
};

const SHOW: Operation = {
  id: 'getPin',
  path: { id: 'Id of a pin.' },
  query: Type.Object({
    _format: Type.Optional(Type.Enum(['json', 'csv', 'ndjson'])),
    _bom: Type.Optional(Type.Enum(['0', '1'], { description: '1 begins a CSV with a byte order mark.' })),
  }),
  headers: ['if-none-match'],
  answers: {
    200: SHOWN,
    304: { description: 'The caller has it: if-none-match names its etag.', headers: VALIDATORS },
  },
  problems: [
    ...(['invalid_query', 'scope_missing', 'advertiser_forbidden', 'advertiser_required'] as const),
    ...(['not_found', 'not_acceptable', 'rate_limited', 'conflict'] as const),
  ],
};

const REMOVE: Operation = {
  id: 'deletePin',
  path: { id: 'Id of a pin.' },
  answers: { 204: { description: 'It is gone.', headers: ['cache-control'] } },
  problems: ['invalid_query', 'scope_missing', 'not_found', 'rate_limited', 'conflict'],
};
