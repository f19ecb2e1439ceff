/**
 * Parsed queries: equal for all callers, without permissions. Relative periods are resolved against one day, so a query is valid,
 * and remembered by its text, for that day only.
 */

import { LRUCache } from 'lru-cache';
import { type FieldFault, GatewayError } from '../errors.js';
import { readCacheDirectives } from '../lib/http/cache-directives.js';
import type { Team } from '../teams/auth/team.js';
import type { AccessRequest } from '../teams/policy/authorize.js';
import { cutToFinal, type FinalOption, finalOption } from './cache/final.js';
import type { Moment } from './history/revision.js';
import { momentOf, type Shape, shapeKey, shapeOf } from './options.js';
import { accountsInPath } from './query/asked-accounts.js';
import { canonicalize, type ParseRules, type Report } from './query/canonicalize.js';
import { dayNumber } from './query/days.js';
import { refuseMisspelt } from './query/endpoint-path.js';
import {
  type Coding,
  type Format,
  negotiateCoding,
  negotiateFormat,
  refusesIdentity,
} from './query/output-options.js';
import { FIRST_DAY } from './query/parameters.js';
import { seriesId, unsplit } from './query/platform-call.js';
import { newPatience, type ReportQuestion, type RequestContext } from './question.js';
import type { ReportCall } from './report-call.js';
import type { ReportPolicy } from './report-policy.js';
import type { FinalRules } from './rows/freshness.js';
import type { JsonObject } from './rows/json.js';

export interface Query {
  readonly question: ReportQuestion;
  /** The unsplit report of the same period, for `_totals`. */
  readonly totals: ReportQuestion | null;
  /** For `_asOf` and `_vintage`; null for current data. */
  readonly moment: Moment | null;
  /** For `_final`; null if provisional days are accepted. */
  readonly final: FinalOption | null;
  /** Input of the access policy. */
  readonly access: AccessRequest;
  readonly shape: Shape;
  readonly coding: Coding;
  /** For `content-disposition` of a table; null for other formats. */
  readonly fileName: string | null;
  /** Minimum size to compress, bytes. */
  readonly compressFrom: number;
  /** Key of the answer in memory, without the stamp of its kind. */
  readonly answerKey: string;
  /** Known names that unknown parameters probably stand for. */
  readonly meant: readonly string[];
  /** When a relative period changes its days, epoch milliseconds; Infinity for fixed dates. */
  readonly meansUntilMs: number;
  /** Start of the day of parsing and of the next day, in the account's zone, epoch milliseconds. */
  readonly readOn: { readonly fromMs: number; readonly untilMs: number };
  /** Last result of {@link memoryKeyOf}: looking up the same string object is faster. */
  lastKey?: { readonly stamps: Stamps; readonly key: string };
}

/** The state that an answer depends on: of its kind, of the window of its days, its row caps, and the platform's retention. */
export type Stamps = readonly [
  kind: string,
  window: string,
  caps: string,
  endedMs: number,
  edgeDays: number | null,
];

export type ParsedCall = Pick<ReportCall, 'endpoint' | 'method' | 'query' | 'accept' | 'acceptEncoding'>;

export type ParseQuery = ReturnType<typeof createQueryParser>;

export function createQueryParser(options: {
  readonly canonical: ParseRules;
  readonly policy: Pick<ReportPolicy, 'identity'>;
  readonly compressMinBytes: number;
  readonly now: () => number;
  readonly rulesOf: (report: Report) => FinalRules;
  /** Notes undeclared parameters of a limited team, which are then passed on by the former check; absent: they are refused. */
  readonly onUndeclared?: (team: string, endpoint: string, faults: readonly FieldFault[]) => void;
}) {
  const { canonical: rules, compressMinBytes, onUndeclared } = options;
  const { account, baseUrl } = options.policy.identity;
  const questionOf = (report: Report, form: ReportQuestion['form']): ReportQuestion => ({
    report,
    form,
    series: seriesId(report, account, baseUrl),
  });

  /**
   * @param body of a POST, null for others
   * @param defaultFormat of the caller's team
   * @throws GatewayError 400 `invalid_query`; 404 for a misspelt endpoint; 406
   */
  return (call: ParsedCall, body: JsonObject | null, defaultFormat: Format): Query => {
    const { endpoint, query, accept, acceptEncoding } = call;
    const method = call.method === 'POST' ? 'POST' : 'GET';
    // Apps that use the platform's bytes were written for the platform, which has always accepted their parameters.
    const lenient = defaultFormat === 'raw';
    if (!lenient) refuseMisspelt(endpoint, rules.endpoints);
    const canonical = canonicalize({ endpoint, method, query, body, lenient }, rules);
    const { report: wanted, today, lookalikes, undeclared } = canonical;
    const format = negotiateFormat(canonical.options.format, accept, defaultFormat);
    const shape = shapeOf(format, canonical.options);
    const final = finalOption(canonical, shape, options.rulesOf(wanted));
    const report = cutToFinal(wanted, final);
    const question = questionOf(report, format === 'raw' ? 'bytes' : 'rows');
    const coding = negotiateCoding(acceptEncoding);
    const moment = momentOf(canonical, shape, rules, options.now());
    const momentKey = moment === null ? '' : typeof moment === 'string' ? moment : moment.at;
    const untilMs = rules.startOfDayOf(report.account, today + 1);
    const isRelative = canonical.options.period !== null || final?.filter === 'only';
    return {
      question,
      moment,
      final,
      totals: shape.totals ? questionOf(unsplit(report), 'rows') : null,
      access: {
        namesAccount: wanted.namesAccount,
        accounts: [...accountsInPath(endpoint), ...wanted.accounts],
        ...(onUndeclared === undefined
          ? { lookalikes: () => [], undeclared }
          : {
              lookalikes,
              undeclared(team: string) {
                const faults = undeclared();
                if (faults.length > 0 && wanted.namesAccount) onUndeclared(team, endpoint, faults);
                return [];
              },
            }),
        accountFields: rules.accountFields,
        rangeDays: rangeDays(wanted, today),
        opensEarly: wanted.from === null && wanted.to !== null,
      },
      shape,
      coding,
      fileName: format === 'csv' ? fileNameOf(report, 'csv') : null,
      compressFrom: refusesIdentity(acceptEncoding) ? 0 : compressMinBytes,
      answerKey: `${shapeKey(question.series, wanted, shape, coding)}|${momentKey}|${final?.key ?? ''}`,
      meant: [...new Set(report.passedOn.flatMap(({ meant }) => meant))],
      meansUntilMs: isRelative ? untilMs : Number.POSITIVE_INFINITY,
      readOn: { fromMs: rules.startOfDayOf(report.account, today), untilMs },
    };
  };
}

export function memoryKeyOf(query: Query, stamps: Stamps): string {
  const { lastKey } = query;
  if (lastKey !== undefined && areEqual(lastKey.stamps, stamps)) return lastKey.key;
  // Joined, as V8 would keep each part of a concatenation.
  const key = [query.answerKey, query.compressFrom, ...stamps].join('|');
  query.lastKey = { stamps, key };
  return key;
}

/** Written out: it runs for each hit. */
function areEqual(a: Stamps, b: Stamps): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3] && a[4] === b[4];
}

/**
 * An open end must not evade the range limit: without a last day the period ends today, without a first day it starts on
 * the earliest day. Without both the platform chooses the period (contract).
 */
function rangeDays({ from, to }: Report, today: number): number | null {
  if (from === null && to === null) return null;
  const last = to === null ? today : (dayNumber(to) as number);
  const first = from === null ? FIRST_DAY : (dayNumber(from) as number);
  return last - first + 1;
}

/** Limit of some file systems, minus the suffix that browsers add. */
const FILE_NAME_CHARS = 150;

/**
 * @param extension e.g. `csv`
 * @returns e.g. `campaigns_1_2026-11-01_2026-11-07.csv`: letters, digits, dots, hyphens and underscores, which need no
 *   quoting in a header (RFC 6266, section 4.3)
 */
export function fileNameOf({ endpoint, account, from, to }: Report, extension: string): string {
  const words = [endpoint.replace(/\/get$/, ''), account, from, to]
    .filter((word) => word !== null)
    .map((word) => word.replace(/[^A-Za-z0-9.-]+/g, '-').replace(/^[.-]+|-+$/g, ''))
    .filter((word) => word !== '');
  return `${words.join('_').slice(0, FILE_NAME_CHARS) || 'report'}.${extension}`;
}

/** Inputs of parsing, besides the team's default format. */
export type Sent = Pick<ReportCall, 'method' | 'target' | 'accept' | 'acceptEncoding'>;

export function createQueries({
  parse,
  stampsOf,
  now,
}: {
  readonly parse: ParseQuery;
  /** Answers in memory with other stamps are void. */
  readonly stampsOf: (report: Report) => Stamps;
  readonly now: () => number;
}) {
  const remembered = createRememberedQueries();
  return {
    /** @throws GatewayError 400 `invalid_query`; 406 */
    read(call: ReportCall, body: JsonObject | null, team: Pick<Team, 'id' | 'scopes' | 'defaultFormat'>) {
      const nowMs = now();
      const { defaultFormat } = team;
      const known = remembered.find(call, defaultFormat, nowMs);
      const query = known ?? parse(call, body, defaultFormat);
      if (known === undefined) remembered.add(call, defaultFormat, query);
      call.trace.meant = query.meant;
      call.trace.mark('understand');
      const directives = readCacheDirectives(call.cacheControl, team.scopes.includes('cache:refresh'));
      const context: RequestContext = {
        id: call.id,
        team: team.id,
        directives: query.final === null ? directives : { ...directives, finalOn: query.final.today },
        arrivedAtMs: nowMs,
        trace: call.trace,
        patience: newPatience(),
      };
      // Computed before the lookup: if a stamp changes meanwhile, the answer is void.
      return { query, context, memoryKey: memoryKeyOf(query, stampsOf(query.question.report)) };
    },
    /** The report of a refused call, read as leniently as there is; null: it cannot be told, or is in a body that was not read. */
    askedBy(call: ReportCall): Report | null {
      if (call.readBody !== null) return null;
      try {
        // Not remembered: a team that is refused must not displace the queries of others.
        return (remembered.find(call, 'raw', now()) ?? parse(call, null, 'raw')).question.report;
      } catch (error) {
        if (error instanceof GatewayError) return null;
        throw error;
      }
    },
  };
}

interface Remembered {
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly defaultFormat: Format;
  readonly query: Query;
}

/** Longer queries are rarely repeated and take much space. */
const MAX_CHARS = 1024;
const MAX_BYTES = 16_777_216;
/** Approximate size without its text, and per parameter. */
const [ONE_BYTES, PARAMETER_BYTES] = [4096, 640];
/** Variants of one target, by accept headers and default format. */
const MAX_VARIANTS = 8;

/** Never remembers permissions, bodies or keys. */
export function createRememberedQueries() {
  const known = new LRUCache<string, readonly Remembered[]>({
    maxSize: MAX_BYTES,
    sizeCalculation: (variants, target) =>
      variants.length * (ONE_BYTES + target.split('&').length * PARAMETER_BYTES) + 2 * target.length,
  });
  return {
    /** @returns a query that is valid at this time */
    find(sent: Sent, defaultFormat: Format, nowMs: number): Query | undefined {
      if (sent.method === 'POST') return undefined;
      for (const one of known.get(sent.target) ?? NONE) {
        if (!isSentAs(one, sent, defaultFormat)) continue;
        const { fromMs, untilMs } = one.query.readOn;
        return nowMs >= fromMs && nowMs < untilMs ? one.query : undefined;
      }
      return undefined;
    },
    add(sent: Sent, defaultFormat: Format, query: Query): void {
      const { method, target, accept, acceptEncoding } = sent;
      const chars = target.length + (accept?.length ?? 0) + (acceptEncoding?.length ?? 0);
      if (method === 'POST' || chars > MAX_CHARS) return;
      const others = (known.get(target) ?? NONE).filter((one) => !isSentAs(one, sent, defaultFormat));
      known.set(target, [{ accept, acceptEncoding, defaultFormat, query }, ...others].slice(0, MAX_VARIANTS));
    },
  };
}

const NONE: readonly Remembered[] = [];

function isSentAs(known: Remembered, { accept, acceptEncoding }: Sent, defaultFormat: Format): boolean {
  return (
    known.accept === accept &&
    known.acceptEncoding === acceptEncoding &&
    known.defaultFormat === defaultFormat
  );
}
