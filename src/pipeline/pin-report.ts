/** `POST /gateway/v1/pins`: the answer to a report, copied, so that it stays as it is. */
import type { Caller } from '../auth/authenticate.js';
import { randomId } from '../chance.js';
import { type FieldFault, GatewayError } from '../errors.js';
import { accountsAsked } from '../history/erasures.js';
import { NO_DIRECTIVES } from '../http/cache-directives.js';
import type { ReportReply } from '../http/report-call.js';
import type { Pins } from '../pins/create-pins.js';
import type { Pin } from '../pins/pin.js';
import { refuseForeignAccounts, withholdForeignAccounts } from '../policy/check-advertiser.js';
import { isAnswerFinal } from '../report/answer-meta.js';
import { CONTENT_TYPES } from '../report/assemble.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { ENDPOINT_FAULT, isEndpointPath } from '../report/endpoint-path.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import type { FreshnessRules } from '../report/freshness.js';
import type { JsonObject } from '../report/json.js';
import { parseQueryText, writeQueryText } from '../report/query-text.js';
import type { ReportPolicy } from '../report-policy.js';
import { assembleAnswer } from './answer.js';
import type { AskReport, NamedReport } from './asked-report.js';
import { describePin, type Lives, ownerOf } from './describe-pin.js';
import type { Query } from './query.js';
import { newPatience } from './question.js';
import type { ReadPast } from './read-past.js';
import type { Report } from './report.js';
import type { PinCall } from './show-pins.js';

export interface PinReportOptions {
  readonly askReport: AskReport;
  readonly pins: Pins;
  readonly report: Report;
  readonly readPast: ReadPast;
  readonly rulesOf: (report: CanonicalReport) => FreshnessRules;
  readonly policy: Pick<ReportPolicy, 'negativeMs'>;
  readonly lives: Lives;
  readonly now: () => number;
}

/** @throws GatewayError */
export type PinReport = (call: PinCall) => Promise<ReportReply>;

/** They would leave out something, or add what has no history: a pin has all rows and columns, and nothing beside them. */
const NOT_PINNED = ['_totals', '_fields', '_final'];
/** They shape an answer; each reading of a pin says them anew. */
const SHAPES = ['_format', '_days', '_bom', '_period', 'dateFrom', 'dateTo'];
const MEMBERS = ['endpoint', 'query', 'revision', 'note'];
const LONGEST_NOTE = 1_000;

export function createPinReport(options: PinReportOptions): PinReport {
  const { askReport, pins, lives } = options;
  return async (call) => {
    const caller = await askReport.enter(call, 'report:pin');
    const wanted = readBody(await call.readBody());
    const asked = inBody(() => askReport.about(caller, wanted));
    const strange = parseQueryText(wanted.query).filter(({ name }) => NOT_PINNED.includes(name));
    if (strange.length > 0)
      throw invalid(strange.map(({ name }) => ({ param: `query.${name}`, message: NOT_HERE })));
    if (asked.shape.format === 'raw' && /(^|&)_format=/.test(wanted.query))
      throw invalid([{ param: 'query._format', message: "a pin holds rows, not the platform's own bytes" }]);
    const answer = await answerTo(options, caller, asked, call).catch((error: unknown) => {
      throw withholdForeignAccounts(caller, error);
    });
    refuseForeignAccounts(caller, answer.pin.held);
    refuseOther(wanted.revision, answer.pin.revision);
    const id = `pin_${randomId().replaceAll('-', '').slice(0, 20)}`;
    const named = { endpoint: wanted.endpoint, query: datedQuery(asked.question.report, wanted.query) };
    const pin = await pins.add(
      ownerOf(caller, lives),
      { ...answer.pin, ...named, id, note: wanted.note, createdAt: options.now(), format: 1 },
      answer.parts,
    );
    call.trace.rows = pin.rowCount;
    return {
      status: 201,
      headers: {
        ...{ location: `/gateway/v1/pins/${id}`, 'cache-control': 'private, no-store' },
        'content-type': CONTENT_TYPES.json,
      },
      body: [Buffer.from(JSON.stringify(describePin(pin)))],
    };
  };
}

interface Answered {
  readonly pin: Omit<Pin, 'id' | 'note' | 'createdAt' | 'endpoint' | 'query' | 'parts' | 'bytes' | 'format'>;
  readonly parts: readonly Entry<RowsHeader>[];
}

async function answerTo(
  options: PinReportOptions,
  { team }: Caller,
  { question: asked, moment }: Query,
  { id, trace }: PinCall,
): Promise<Answered> {
  const question = { ...asked, form: 'rows' as const };
  const { report, series } = question;
  const nowMs = options.now();
  const context = {
    ...{ id, trace, team: team.id, directives: NO_DIRECTIVES, arrivedAtMs: nowMs },
    patience: newPatience(),
  };
  const past = moment === null ? null : await options.readPast(question, moment);
  const { parts, storable, outcome } = past?.answer ?? (await options.report(question, context));
  const rules = options.rulesOf(report);
  const shape = { format: 'json', days: false, bom: false, fields: null } as const;
  const input = { report, ...shape, parts, rules, nowMs, totals: null, past: past?.known ?? null };
  const { negativeMs } = options.policy;
  const shown = assembleAnswer({ ...input, isRecorded: false, leftOut: [] }, negativeMs, new Set());
  if (parts[0]?.header.form !== 'rows')
    throw new GatewayError('conflict', {
      detail: 'The platform answers this report without rows, so there is nothing that a pin could hold.',
      help: 'Ask for the report itself with _format=raw, and keep its bytes yourself.',
    });
  if (!storable)
    throw new GatewayError('conflict', {
      detail: 'The platform forbids to keep this answer, so it cannot be pinned.',
      help: 'Ask for the report itself, and keep it yourself.',
    });
  trace.outcome = outcome;
  const rows = parts as readonly Entry<RowsHeader>[];
  return {
    parts: rows,
    pin: {
      ...{
        series,
        from: report.from.iso,
        to: report.to.iso,
        account: report.account,
        split: [...report.split],
      },
      revision: shown.revision,
      knownAt: past?.known.atMs ?? shown.newestMs,
      final: isAnswerFinal(rows, past?.known ?? null, rules),
      rowCount: shown.rowCount,
      named: [...accountsAsked(report)],
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

function readBody(body: JsonObject): WantedPin {
  const faults: FieldFault[] = body.names
    .filter((name) => !MEMBERS.includes(name))
    .map((name) => ({
      param: name,
      message: `is no member that this call takes; allowed are ${MEMBERS.join(', ')}`,
    }));
  const {
    endpoint,
    query,
    revision = null,
    note = null,
  } = Object.fromEntries(body.names.map((name, at) => [name, body.values[at]]));
  if (!isEndpointPath(endpoint)) faults.push({ param: 'endpoint', message: ENDPOINT_FAULT });
  if (typeof query !== 'string')
    faults.push({ param: 'query', message: 'must be the query of a report, as text' });
  if (revision !== null && typeof revision !== 'string')
    faults.push({ param: 'revision', message: 'must be the meta.revision of the answer that is meant' });
  if (note !== null && (typeof note !== 'string' || note.length > LONGEST_NOTE))
    faults.push({ param: 'note', message: `must be a text of at most ${LONGEST_NOTE} characters` });
  if (faults.length > 0) throw invalid(faults);
  return { endpoint, query, revision, note } as WantedPin;
}

/** What is wrong with the query is wrong with the body. */
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
        ? `The revision ${wanted} was to be pinned, and this report has none, for it is not kept by days.`
        : `The revision ${wanted} was to be pinned, and the report is at ${found} now.`,
    help: 'Look at the report again, and pin the revision that it has; what it said before can be pinned with _asOf in the query.',
  });
}

/** What was relative when it was pinned means the same days for ever. */
function datedQuery({ from, to }: CanonicalReport, query: string): string {
  const stays = parseQueryText(query).filter(({ name }) => !SHAPES.includes(name));
  const period = [
    ...(from.iso === null ? [] : [{ name: 'dateFrom', value: from.iso }]),
    ...(to.iso === null ? [] : [{ name: 'dateTo', value: to.iso }]),
  ];
  return writeQueryText([...stays, ...period]);
}

const NOT_HERE = 'does not go into a pin, which has all rows and columns of the report alone: leave it out';

function invalid(errors: readonly FieldFault[]): GatewayError {
  return new GatewayError('invalid_body', { errors });
}
