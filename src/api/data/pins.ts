/** Reads, lists and deletes pins: `/gateway/v1/pins`. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { entityTag, isNotModified, VARY } from '../../reports/cache/reply.js';
import type { Pin } from '../../reports/history/pin-index.js';
import { formatPinned } from '../../reports/history/pinned-rows.js';
import { mayBeSeen, ownerOf, PIN_LIMITS, type PinnedRows } from '../../reports/history/pins.js';
import { BOM_FAULT } from '../../reports/options.js';
import { parseQueryText, writeQueryText } from '../../reports/query/given-parameters.js';
import { negotiateFormat } from '../../reports/query/output-options.js';
import { digest } from '../../reports/query/platform-call.js';
import type { ReportReply } from '../../reports/report-call.js';
import type { Reports } from '../../reports/reports.js';
import { showId } from '../../reports/rows/answer-meta.js';
import { CONTENT_TYPES } from '../../reports/rows/assemble.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { checkAdvertiser } from '../../teams/policy/authorize.js';
import { deletePin, getPin, listPins } from '../operations/past.js';
import { type AskCall, parseNamed, readParameters } from './ask.js';
import { sendReply, serveTeam } from './serve.js';

export const PINS_PATH = '/gateway/v1/pins';

export function registerPins(app: FastifyInstance, g: Reports): void {
  serveTeam(app, listPins, async (call, _request, reply) => sendReply(reply, await list(g, call)));
  serveTeam(app, getPin, async (call, request, reply) =>
    sendReply(reply, await showPin(g, call, idIn(request))),
  );
  serveTeam(app, deletePin, async (call, request, reply) =>
    sendReply(reply, await removePin(g, call, idIn(request))),
  );
}

const idIn = (request: FastifyRequest) => (request.params as { readonly id: string }).id;

const DEFAULT_LIMIT = 100;
const MOMENTS = ['_asOf', '_vintage'];

/** @throws GatewayError 403; `not_found` */
export async function findPin(g: Reports, caller: Caller, id: string): Promise<PinnedRows> {
  const found = await g.pins.read(ownerOf(caller, g.lives), id);
  if (found === null) throw noPin(id);
  checkAccess(g, caller, found.pin);
  return found;
}

/**
 * Checked on each read, as for the report: an advertiser revoked from a team is revoked from its pins.
 * @throws GatewayError 403
 */
function checkAccess({ parse }: Reports, caller: Caller, pin: Pin): void {
  if (caller.team.advertisers === '*') return;
  // The pinned moment has no influence on access, and may no longer be valid.
  const query = writeQueryText(parseQueryText(pin.query).filter(({ name }) => !MOMENTS.includes(name)));
  checkAdvertiser(caller, parseNamed(parse, { endpoint: pin.endpoint, query }, 'raw').access);
  if (mayBeSeen(pin, caller)) return;
  throw new GatewayError('advertiser_forbidden', {
    detail: 'The team has no access to an advertiser in this pin.',
  });
}

async function list({ admit, pins, lives }: Reports, call: AskCall): Promise<ReportReply> {
  const caller = await admit(call);
  const given = readParameters(call.query, ['limit', 'after']);
  const limit = limitOf(given.get('limit'));
  const all = await pins.list(ownerOf(caller, lives));
  const seen = all.filter((pin) => mayBeSeen(pin, caller));
  const after = given.get('after');
  const start = after === undefined ? 0 : seen.findIndex(({ id }) => id === after) + 1;
  if (start === 0 && after !== undefined)
    throw invalidQuery(mustBe('after', 'the id of a pin, from meta.next of the previous page'));
  const page = seen.slice(start, start + limit);
  const next = start + limit < seen.length ? (page.at(-1)?.id ?? null) : null;
  const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
  const meta = { count: all.length, bytes, maxCount: PIN_LIMITS.pins, maxBytes: PIN_LIMITS.bytes, next };
  const body = Buffer.from(JSON.stringify({ data: page.map(describePin), meta }));
  return { status: 200, headers: { 'content-type': CONTENT_TYPES.json }, body: [body] };
}

async function showPin(g: Reports, call: AskCall, id: string): Promise<ReportReply> {
  const caller = await g.admit(call);
  const given = readParameters(call.query, ['_format', '_bom']);
  const format = formatOf(given.get('_format'), call.accept, caller);
  const bom = bomOf(given.get('_bom'), format);
  const { pin, parts } = await findPin(g, caller, id);
  const tag = digest(['pin', id, format, String(bom)]).slice(0, 22);
  const headers = {
    etag: entityTag(tag, 'identity'),
    'cache-control': 'private, no-cache',
    vary: VARY,
    ...(pin.revision === null ? {} : { 'report-revision': pin.revision }),
  };
  if (isNotModified(call.ifNoneMatch, tag, 'identity')) return { status: 304, headers, body: null };
  call.trace.rows = pin.rowCount;
  const formatted = await formatPinned(g.workerPool.format, parts, { format, rowCount: pin.rowCount, bom });
  const { id: _, ...known } = describePin(pin);
  const meta = Buffer.from(`],"meta":${JSON.stringify({ pin: id, ...known })}}`);
  const body = format === 'json' ? [Buffer.from('{"data":['), formatted, meta] : [formatted];
  return { status: 200, headers: { ...headers, 'content-type': CONTENT_TYPES[format] }, body };
}

async function removePin({ admit, pins, lives }: Reports, call: AskCall, id: string): Promise<ReportReply> {
  const caller = await admit(call, 'report:pin');
  readParameters(call.query, []);
  if (!(await pins.remove(ownerOf(caller, lives), id))) throw noPin(id);
  return { status: 204, headers: {}, body: null };
}

function formatOf(asked: string | undefined, accept: string | undefined, { team }: Caller) {
  if (asked !== undefined && asked !== 'json' && asked !== 'csv' && asked !== 'ndjson')
    throw invalidQuery(mustBe('_format', 'one of json, csv, ndjson'));
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
  throw invalidQuery(text === '1' ? BOM_FAULT : mustBe('_bom', '1 or 0'));
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= PIN_LIMITS.pins) return limit;
  throw invalidQuery(mustBe('limit', `a whole number from 1 to ${PIN_LIMITS.pins}`));
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
    createdBy: pin.by ?? null,
    advertiserId: showId(account),
    period: from === null && to === null ? null : { from, to },
    split,
    knownAt: new Date(pin.knownAt).toISOString(),
    final: pin.final,
    rowCount: pin.rowCount,
    bytes: pin.bytes,
  };
}
