/** Pins, for those who may see them: `/gateway/v1/pins`. */
import type { Caller } from '../auth/authenticate.js';
import { GatewayError, invalidQuery } from '../errors.js';
import type { AskCall } from '../http/ask-call.js';
import { negotiateFormat } from '../http/negotiate.js';
import type { ReportReply } from '../http/report-call.js';
import { entityTag, isNotModified, VARY } from '../http/respond.js';
import { PIN_LIMITS, type PinnedRows, type Pins } from '../pins/create-pins.js';
import { checkAdvertiser } from '../policy/check-advertiser.js';
import { CONTENT_TYPES } from '../report/assemble.js';
import { joinEntries } from '../report/join-entries.js';
import type { JsonObject } from '../report/json.js';
import { digest } from '../report/platform-call.js';
import { parseQueryText, writeQueryText } from '../report/query-text.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import { type AskReport, readParameters } from './asked-report.js';
import { describePin, type Lives, mayBeSeen, ownerOf } from './describe-pin.js';
import type { ParseQuery } from './query.js';

export interface PinCall extends AskCall {
  /** The parsed body of a POST; not a byte of it is taken before. @throws GatewayError */
  readonly readBody: () => Promise<JsonObject>;
}

export interface ShowPinsOptions {
  readonly askReport: AskReport;
  readonly parse: ParseQuery;
  readonly pins: Pins;
  readonly lives: Lives;
  readonly workerPool: Pick<WorkerPool, 'format'>;
}

export interface ShowPins {
  list(call: AskCall): Promise<ReportReply>;
  show(call: AskCall, id: string): Promise<ReportReply>;
  remove(call: AskCall, id: string): Promise<ReportReply>;
  /** A pin of the team, where the caller may see it. @throws GatewayError `not_found` */
  find(caller: Caller, id: string): Promise<PinnedRows>;
}

const NO_STORE = { 'cache-control': 'private, no-store' };
const MOST_LISTED = 100;
const MOMENTS = ['_asOf', '_vintage'];

export function createShowPins(options: ShowPinsOptions): ShowPins {
  const { askReport, pins, lives } = options;

  async function find(caller: Caller, id: string): Promise<PinnedRows> {
    const found = await pins.read(ownerOf(caller, lives), id);
    if (found === null) throw noPin(id);
    checkAccess(options, caller, found);
    return found;
  }

  return {
    find,
    async list(call) {
      const caller = await askReport.enter(call);
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
    },
    async show(call, id) {
      const caller = await askReport.enter(call);
      const given = readParameters(call.query, ['_format', '_bom']);
      const format = formatOf(given.get('_format'), call.accept, caller);
      const bom = bomOf(given.get('_bom'), format);
      const { pin, parts } = await find(caller, id);
      const tag = digest(['pin', id, format, String(bom)]).slice(0, 22);
      const headers = {
        ...{ etag: entityTag(tag, 'identity'), 'cache-control': 'private, no-cache', vary: VARY },
        ...(pin.revision === null ? {} : { 'report-revision': pin.revision }),
      };
      if (isNotModified(call.ifNoneMatch, tag, 'identity')) return { status: 304, headers, body: null };
      call.trace.rows = pin.rowCount;
      const rows = joinEntries(parts);
      const columns = [...new Set(parts.flatMap(({ header }) => header.columns))];
      const formatted = await options.workerPool.format({
        ...{ format, chunks: [rows.body], rewrites: [null], columns, rowCount: pin.rowCount, bom },
      });
      const { id: _, ...known } = describePin(pin);
      const meta = Buffer.from(`],"meta":${JSON.stringify({ pin: id, ...known })}}`);
      const body = format === 'json' ? [Buffer.from('{"data":['), formatted, meta] : [formatted];
      return { status: 200, headers: { ...headers, 'content-type': CONTENT_TYPES[format] }, body };
    },
    async remove(call, id) {
      const caller = await askReport.enter(call, 'report:pin');
      readParameters(call.query, []);
      if (!(await pins.remove(ownerOf(caller, lives), id))) throw noPin(id);
      return { status: 204, headers: NO_STORE, body: null };
    },
  };
}

/**
 * As for the report itself, at each reading: what was taken from a team's list is taken from its pins.
 * @throws GatewayError 403
 */
function checkAccess({ parse }: ShowPinsOptions, caller: Caller, { pin }: PinnedRows): void {
  if (caller.team.advertisers === '*') return;
  const { endpoint } = pin;
  // Which moment was pinned grants nothing, and whether it is one may depend on how it is read.
  const query = writeQueryText(parseQueryText(pin.query).filter(({ name }) => !MOMENTS.includes(name)));
  const asked = { endpoint, query, method: 'GET' as const, accept: undefined, acceptEncoding: undefined };
  checkAdvertiser(caller, parse(asked, null, 'raw').access);
  if (mayBeSeen(pin, caller)) return;
  throw new GatewayError('advertiser_forbidden', {
    detail: 'The pin holds rows of an advertiser the team may not see.',
  });
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
