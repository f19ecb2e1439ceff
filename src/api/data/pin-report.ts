/** Pins the answer to a report: `POST /gateway/v1/pins`. */

import type { FastifyInstance } from 'fastify';
import { type FieldFault, GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { isUnknown, mustBe } from '../../lib/field-faults.js';
import { NO_DIRECTIVES } from '../../lib/http/cache-directives.js';
import { assembleAnswer } from '../../reports/cache/answer.js';
import { requestedAccounts } from '../../reports/history/erasures.js';
import { ownerOf } from '../../reports/history/pins.js';
import type { Report } from '../../reports/query/canonicalize.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../../reports/query/endpoint-path.js';
import { parseQueryText, writeQueryText } from '../../reports/query/given-parameters.js';
import type { Query } from '../../reports/query.js';
import { newPatience } from '../../reports/question.js';
import type { ReportReply } from '../../reports/report-call.js';
import type { Reports } from '../../reports/reports.js';
import { isAnswerFinal } from '../../reports/rows/answer-meta.js';
import { CONTENT_TYPES } from '../../reports/rows/assemble.js';
import type { Entry, RowsHeader } from '../../reports/rows/entry.js';
import type { JsonObject } from '../../reports/rows/json.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { refuseForeignAccounts, withholdForeignAccounts } from '../../teams/policy/authorize.js';
import { type BodyLimits, parseJsonBody } from '../http/json-body.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import { createPin } from '../operations/past.js';
import { type AskCall, type NamedReport, questionAbout } from './ask.js';
import { describePin, PINS_PATH } from './pins.js';
import { sendReply, serveTeam } from './serve.js';

const BODY_LIMITS: BodyLimits = { maxMembers: 16, maxItems: 0 };
const MAX_BODY_BYTES = 65_536;
/** Not allowed: a pin has all rows and columns, and nothing without history. */
const NOT_PINNED = ['_totals', '_fields', '_final'];
/** Not part of a pin's query: they only shape answers, or are replaced by its dates. */
const SHAPES = ['_format', '_days', '_bom', '_period', 'dateFrom', 'dateTo'];
const MEMBERS = ['endpoint', 'query', 'revision', 'note'];
const MAX_NOTE_CHARS = 1_000;

export function registerPinReport(app: FastifyInstance, g: Reports): void {
  // The body is read only after authentication.
  withUnreadBodies(app, (scope) => {
    serveTeam(scope, createPin, async (call, request, reply) => {
      const readBody = async () => parseJsonBody(await readJsonBytes(request, MAX_BODY_BYTES), BODY_LIMITS);
      return sendReply(reply, await pinReport(g, call, readBody));
    });
  });
}

async function pinReport(
  g: Reports,
  call: AskCall,
  readBody: () => Promise<JsonObject>,
): Promise<ReportReply> {
  const caller = await g.admit(call, 'report:pin');
  const wanted = wantedIn(await readBody());
  const asked = inBody(() => questionAbout(g, caller, wanted));
  const strange = parseQueryText(wanted.query).filter(({ name }) => NOT_PINNED.includes(name));
  if (strange.length > 0)
    throw invalid(strange.map(({ name }) => ({ param: `query.${name}`, message: NOT_HERE })));
  if (asked.shape.format === 'raw' && /(^|&)_format=/.test(wanted.query))
    throw invalid([
      { param: 'query._format', message: "must not be raw: a pin holds rows, not the platform's own bytes" },
    ]);
  const answer = await answerTo(g, caller, asked, call).catch((error: unknown) => {
    throw withholdForeignAccounts(caller, error);
  });
  refuseForeignAccounts(caller, answer.pin.held);
  refuseOther(wanted.revision, answer.pin.revision);
  const id = `pin_${randomId().replaceAll('-', '').slice(0, 20)}`;
  const pin = await g.pins.add(
    ownerOf(caller, g.lives),
    {
      ...answer.pin,
      endpoint: wanted.endpoint,
      query: datedQuery(asked.question.report, wanted.query),
      id,
      note: wanted.note,
      by: caller.key.label === '' ? caller.key.id : caller.key.label,
      createdAt: g.now(),
      format: 1,
    },
    answer.parts,
  );
  call.trace.rows = pin.rowCount;
  return {
    status: 201,
    headers: {
      location: `${PINS_PATH}/${id}`,
      'cache-control': 'private, no-store',
      'content-type': CONTENT_TYPES.json,
    },
    body: [Buffer.from(JSON.stringify(describePin(pin)))],
  };
}

async function answerTo(
  g: Reports,
  { team }: Caller,
  { question: asked, moment }: Query,
  { id, trace }: AskCall,
) {
  const question = { ...asked, form: 'rows' as const };
  const { report, series } = question;
  [trace.asked, trace.isLookedUp] = [report, true];
  const nowMs = g.now();
  const context = {
    id,
    trace,
    team: team.id,
    directives: NO_DIRECTIVES,
    arrivedAtMs: nowMs,
    patience: newPatience(),
  };
  const past = moment === null ? null : await g.readPast(question, moment);
  const { parts, storable, outcome } = past?.answer ?? (await g.read(question, context));
  const rules = g.policy.rulesFor(report);
  const shape = { format: 'json', days: false, bom: false, fields: null } as const;
  const input = { report, ...shape, parts, rules, nowMs, totals: null, past: past?.known ?? null };
  const { negativeMs } = g.policy;
  const shown = assembleAnswer({ ...input, isRecorded: false, leftOut: [] }, negativeMs, new Set());
  if (parts[0]?.header.form !== 'rows')
    throw new GatewayError('conflict', {
      detail: 'The platform answers this report without rows, so it cannot be pinned.',
      help: 'Request the report with _format=raw, and keep its bytes yourself.',
    });
  if (!storable)
    throw new GatewayError('conflict', {
      detail: 'The platform forbids storing this answer, so it cannot be pinned.',
      help: 'Request the report, and keep it yourself.',
    });
  trace.outcome = outcome;
  const rows = parts as readonly Entry<RowsHeader>[];
  return {
    parts: rows,
    pin: {
      series,
      from: report.from,
      to: report.to,
      account: report.account,
      split: [...report.split],
      revision: shown.revision,
      knownAt: past?.known.atMs ?? shown.newestMs,
      final: isAnswerFinal(rows, past?.known ?? null, rules),
      rowCount: shown.rowCount,
      named: [...requestedAccounts(report)],
      seq: Math.min(...rows.map(({ header }) => header.seq)),
      fetchedFrom: Math.min(...rows.map(({ header }) => header.fetchStartedAt)),
      held: [...shown.accounts],
    },
  };
}

interface WantedPin extends NamedReport {
  readonly revision: string | null;
  readonly note: string | null;
}

function wantedIn(body: JsonObject): WantedPin {
  const faults: FieldFault[] = body.names
    .filter((name) => !MEMBERS.includes(name))
    .map((param) => isUnknown(param, MEMBERS));
  const {
    endpoint,
    query,
    revision = null,
    note = null,
  } = Object.fromEntries(body.names.map((name, at) => [name, body.values[at]]));
  if (!isEndpointPath(endpoint)) faults.push(ENDPOINT_FAULT);
  if (typeof query !== 'string') faults.push(mustBe('query', 'the query of a report, as text'));
  if (revision !== null && typeof revision !== 'string')
    faults.push(mustBe('revision', 'the expected meta.revision of the report'));
  if (note !== null && (typeof note !== 'string' || note.length > MAX_NOTE_CHARS))
    faults.push(mustBe('note', `a text of at most ${MAX_NOTE_CHARS} characters`));
  if (faults.length > 0) throw invalid(faults);
  return { endpoint, query, revision, note } as WantedPin;
}

/** Faults of the query are faults of the body. */
function inBody<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_query') throw error;
    throw new GatewayError('invalid_body', error.options);
  }
}

function refuseOther(wanted: string | null, found: string | null): void {
  if (wanted === null || wanted === found) return;
  throw new GatewayError('conflict', {
    detail:
      found === null
        ? `Revision ${wanted} cannot be pinned: this report is not cached by day, so it has no revision.`
        : `Revision ${wanted} cannot be pinned: the report is now at ${found}.`,
    help:
      found === null
        ? 'Omit revision to pin the report as it is now.'
        : 'Read the report again and pin its current revision, or pin earlier data with _asOf in the query.',
  });
}

function datedQuery({ from, to }: Report, query: string): string {
  const stays = parseQueryText(query).filter(({ name }) => !SHAPES.includes(name));
  const period = [
    ...(from === null ? [] : [{ name: 'dateFrom', value: from }]),
    ...(to === null ? [] : [{ name: 'dateTo', value: to }]),
  ];
  return writeQueryText([...stays, ...period]);
}

const NOT_HERE = 'is not supported: a pin has all rows and columns of the report';

function invalid(errors: readonly FieldFault[]): GatewayError {
  return new GatewayError('invalid_body', { errors });
}
