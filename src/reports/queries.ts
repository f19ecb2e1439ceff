/** Parses queries, and caches parsed queries by request text for the day they are valid. Never caches permissions, bodies or keys. */
import { LRUCache } from 'lru-cache';
import { readCacheDirectives } from '../lib/http/cache-directives.js';
import type { Team } from '../teams/auth/team.js';
import type { Report } from './query/canonicalize.js';
import type { Format } from './query/output-options.js';
import { memoryKeyOf, type ParseQuery, type Query, type Stamps } from './query.js';
import { newPatience, type RequestContext } from './question.js';
import type { ReportCall } from './report-call.js';
import type { JsonObject } from './rows/json.js';

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
