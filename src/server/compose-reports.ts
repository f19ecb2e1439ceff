/** Composition of everything for reports, once per process. */

import type { NamedReport } from '../api/data/ask.js';
import { explain } from '../api/data/explain.js';
import { previewPurge } from '../api/data/preview-purge.js';
import { randomId } from '../lib/chance.js';
import type { MovableClock } from '../lib/clock.js';
import { createAdmit } from '../reports/admit.js';
import { createAnswerQuery } from '../reports/cache/answer.js';
import { createBackground, createRefreshes, createTurnQueue } from '../reports/cache/background.js';
import { createAnswerMemory, type L1 } from '../reports/cache/finished.js';
import { createLookUp } from '../reports/cache/look-up.js';
import type { PurgeScope } from '../reports/cache/purges.js';
import { createReplacements } from '../reports/cache/replacements.js';
import { createReply } from '../reports/cache/reply.js';
import { createWorkerPool, type WorkerPool } from '../reports/cache/threads/worker-pool.js';
import { createCacheTier } from '../reports/cache/tier.js';
import { createDays } from '../reports/days/days.js';
import { fetchToLearn, probe } from '../reports/fetch/call-platform.js';
import { createCaps, createKnownCaps } from '../reports/fetch/caps.js';
import { createCheckSchedule, noteAgreed, usedFromMemory } from '../reports/fetch/cross-check.js';
import { createFetchLocks } from '../reports/fetch/fetch-locks.js';
import { createWriteBehind } from '../reports/fetch/keep.js';
import { createKnownShapes } from '../reports/fetch/known-shapes.js';
import { createSharedAttempts } from '../reports/fetch/shared-attempts.js';
import { createWeekly } from '../reports/fetch/weekly.js';
import type { Gateway } from '../reports/gateway.js';
import { createRetention } from '../reports/history/forgotten.js';
import { createAcceptedEmpty, createHistory, type HistoryOptions } from '../reports/history/history.js';
import { createOldPins } from '../reports/history/old-pins.js';
import { createPins, isGone, type TeamLives } from '../reports/history/pins.js';
import { createAdvertisers } from '../reports/learn/advertisers.js';
import { createCompared } from '../reports/learn/compared.js';
import { DayEvidence, type DayEvidenceOptions } from '../reports/learn/day-evidence.js';
import { type Comparison, createKinds, createLearner } from '../reports/learn/learn.js';
import { createProver } from '../reports/learn/prove-kind.js';
import { createSeenUndeclared } from '../reports/learn/seen-undeclared.js';
import { createSelectable } from '../reports/learn/selectable.js';
import { divisibilityId } from '../reports/learn/state.js';
import type { ParseRules, Report } from '../reports/query/canonicalize.js';
import { dayAt, startOfDay } from '../reports/query/days.js';
import type { Format } from '../reports/query/output-options.js';
import { parameterTable } from '../reports/query/parameters.js';
import { createQueries, createQueryParser, type Stamps } from '../reports/query.js';
import type { ReportPolicy } from '../reports/report-policy.js';
import type { FreshnessRules } from '../reports/rows/freshness.js';
import { hourly, type Job } from '../store/jobs.js';
import { whenAway } from '../store/port.js';
import type { Identify } from '../teams/auth/authenticate.js';
import type { TeamLimits } from '../teams/limits/limits.js';
import type { Count } from '../telemetry/counters.js';

export interface ReportingOptions
  extends Pick<HistoryOptions, 'credential' | 'erasures'>,
    Pick<DayEvidenceOptions, 'registry'>,
    Pick<
      Gateway,
      | 'config'
      | 'store'
      | 'purges'
      | 'platform'
      | 'maxConcurrent'
      | 'isIdle'
      | 'recentCalls'
      | 'onReport'
      | 'logger'
    > {
  /** Configured rules, without learned ones. */
  readonly policy: ReportPolicy;
  readonly clock: MovableClock;
  readonly identify: Identify;
  readonly limits: TeamLimits;
  /** Existing and deleted teams. */
  readonly lives: TeamLives;
  readonly l1: L1;
  readonly count: Count;
  readonly onMeasured: HistoryOptions['onMeasured'];
}

/** Maximum requests of a process waiting for calls of others. */
const MAX_WAITING = 10_000;

/** What is stored of reports: whole entries and days, read together. */
function composeStored({ store, clock, logger, purges, count }: ReportingOptions) {
  const workerPool = createWorkerPool();
  const days = createDays({
    ...{ store: store.days, encode: workerPool.encodePart, now: clock.now, logger },
    ...(store.kind === 'redis' && { onClock: clock.follow }),
    onDamaged: () => count('store_faults', { kind: 'damaged' }),
  });
  const tier = createCacheTier({
    ...{ store: store.cache, encode: workerPool.encode, logger, count },
    versionClockMs: () => days.clockUs() / 1000,
  });
  const lookUp = createLookUp({ tier, days, purges, now: clock.now, count, logger });
  return { workerPool, tier, days, lookUp };
}

function composePins({ store, erasures, logger }: ReportingOptions, { format }: WorkerPool) {
  const old = createOldPins({ store: store.oldPins, pins: store.pins, format, logger });
  return createPins({ store: store.pins, isErased: erasures.isErased, old });
}

function composeParser(
  { config, store, logger }: ReportingOptions,
  rules: Pick<Parameters<typeof createQueryParser>[0], 'canonical' | 'policy' | 'now' | 'rulesOf'>,
) {
  const observed =
    config.report.limitedTeams.undeclared === 'observe'
      ? createSeenUndeclared({ documents: store.documents, now: rules.now, logger })
      : null;
  const parse = createQueryParser({
    ...{ ...rules, compressMinBytes: config.cache.compressMinBytes },
    ...(observed !== null && { onUndeclared: observed.note }),
  });
  return { parse, observed };
}

const evidenceMetrics = (count: Count): DayEvidenceOptions['metrics'] => ({
  finality: (event, times) => count('finality_events', { event }, times),
  truth: (verdict, days) => count('truth_days', { verdict }, days),
});

function composeGateway(options: ReportingOptions) {
  const { config, store, clock, logger, registry, purges, count } = options;
  const [{ now }, { accountFields, endpoints }] = [clock, options.policy];
  const background = createBackground(logger);
  const stored = composeStored(options);
  const { days } = stored;
  const evidence = new DayEvidence({
    ...{ ...options, days, background: background.add, metrics: evidenceMetrics(count) },
    isSplit: (report) => learner.status(report).state === 'proven',
  });
  const retention = createRetention({
    ...{ documents: store.documents, logger },
    declaredDays: config.platform.retentionDays ?? null,
    endpoints: () => endpoints.keys(),
  });
  const behind = { policy: options.policy, now, logger, background: background.add };
  const kindOf = (report: Report) => divisibilityId(report, accountFields);
  const knownCaps = createKnownCaps(registry, kindOf, { ...behind, endpoints });
  function rulesFor(report: Report): FreshnessRules {
    const rules = evidence.rulesFor(report);
    const [edgeEndedMs, edgeDays] = [retention.endedMs(report.endpoint), retention.edgeDays(report.endpoint)];
    const caps = knownCaps.of(report);
    if (edgeEndedMs === 0 && edgeDays === null && caps.length === 0) return rules;
    return { ...rules, edgeEndedMs, caps, ...(edgeDays === null ? {} : { edgeDays }) };
  }
  const policy = { ...options.policy, rulesFor };
  const learner = createLearner({
    ...{ kinds: createKinds(registry), policy, now, logger },
    onEvent: (event) => count('divisibility_events', { event }),
    onDependent: (what, dates) => evidence.dependent(what, dates),
  });
  const accepted = createAcceptedEmpty(registry, purges);
  const history = createHistory({
    ...{ ...options, days, accepted, background: background.add },
    rulesOf: rulesFor,
    countRulesOf: (report) => evidence.countRulesOf(report),
  });
  const advertisers = createAdvertisers({ ...options, documents: store.documents, accountFields });
  const canonical = canonicalRules(options);
  const { parse, observed } = composeParser(options, { canonical, policy, now, rulesOf: rulesFor });
  const self = randomId();
  const compared = createCompared(store.documents, now);
  const g: Gateway = {
    ...{ config, logger, now, count, self, policy, canonical },
    ...{ admit: createAdmit(options), parse, lives: options.lives },
    ...{ store, purges, ...stored },
    writeBehind: createWriteBehind(background.add),
    replacements: createReplacements(store.bus, logger, (names) => g.locks.wake(names)),
    platform: options.platform,
    attempts: createSharedAttempts(MAX_WAITING),
    locks: createFetchLocks({ ...store.days, claim: days.claim }, store.bus, logger, MAX_WAITING),
    ...{ maxConcurrent: options.maxConcurrent, isIdle: options.isIdle, recentCalls: options.recentCalls },
    background: background.add,
    turns: createTurnQueue(),
    refreshes: createRefreshes(now, logger, background.add),
    ...{ learner, compared },
    learnFrom: (news) => learnFrom(g, news),
    // The one circular dependency: learning from fetches may need further fetches.
    prover: createProver({
      ...{ learner, compared, policy, now, self, logger, recentCalls: options.recentCalls },
      leases: store.registryLeases,
      ask: (of, from, to) => probe(g, of, from, to),
    }),
    selectable: createSelectable(registry, behind),
    checks: createCheckSchedule(config.report.crossCheckEvery, { learner, policy, now, compared }),
    weekly: createWeekly(),
    caps: createCaps(knownCaps, clock),
    shapes: createKnownShapes(store.documents, behind),
    ...{ history, retention, accepted, evidence, advertisers },
    pins: composePins(options, stored.workerPool),
    onReport: options.onReport,
  };
  const learned = [evidence, retention, advertisers, ...(observed === null ? [] : [observed])];
  return {
    g,
    observed,
    /** Waits for work that outlives its request. */
    settled: () =>
      background
        .settled()
        .then(() => Promise.all(learned.map((part) => part.flush())))
        .then(() => {}),
    async close() {
      await history.close();
      await days.close();
      await Promise.all(learned.map((part) => part.close()));
      await stored.workerPool.close();
    },
  };
}

export function composeReports(options: ReportingOptions) {
  const { g, observed, settled, close } = composeGateway(options);
  const { parse, now, learner, evidence, retention, background } = g;
  const memory = createAnswerMemory({
    l1: options.l1,
    purges: g.purges,
    background,
    onCheckDue: (question) => usedFromMemory(g, question),
  });
  function stampsOf(report: Report): Stamps {
    const [endedMs, edgeDays] = [retention.endedMs(report.endpoint), retention.edgeDays(report.endpoint)];
    const [kind, window] = [learner.stampOf(report), evidence.stampOf(report)];
    return [kind, window, g.caps.stampOf(report), endedMs, edgeDays];
  }
  // Answers that were cached before the start are judged by the retention.
  background(retention.edges());
  // A store that is away is looked at again in an hour, or by the next fetch.
  const compareClocks = () => g.days.compareClocks().catch(whenAway(() => {}));
  background(compareClocks());
  return {
    /** For calls about reports and learned facts. */
    gateway: g,
    admit: g.admit,
    queries: createQueries({ parse, stampsOf, now }),
    memory,
    answerQuery: createAnswerQuery(g, memory),
    reply: createReply(now, background),
    canonical: g.canonical,
    explain: (endpoint: string, query: string, format?: Format) => explain(g, endpoint, query, format),
    previewPurge: (scope: PurgeScope, named: NamedReport | null) => previewPurge(g, scope, named),
    /** Converts a JSON answer to a paged table. */
    table: g.workerPool.table,
    /** Whether a report recently came as one page of several. */
    isPaged: g.shapes.isPaged,
    acceptEmpty: g.history.acceptEmpty,
    eraseHistory: (advertiserId: string, audit: string) => eraseHistory(g, advertiserId, audit),
    /** Retention of the platform by endpoint. Never rejects. */
    retentionEdges: retention.edges,
    /** Jobs of each process. */
    everywhere: { 'look at the clock of the store': hourly(compareClocks, false) },
    /** What limited teams send that would be refused; null: it is refused. Never rejects. */
    observedUndeclared: async () => (observed === null ? null : await observed.list()),
    /** Jobs of the leader. */
    led: {
      'sweep of the history': g.history.sweep,
      'sweep of pins': hourly(() => sweepPins(g), false),
      'rewriting of old pins': hourly(g.pins.adopt, true),
      'removal of old history and cache entries': removingOldLayout(g),
    },
    /** Requests waiting for calls of others. */
    waiting: () => g.locks.waiting + g.attempts.waiting,
    settled,

    async close(): Promise<void> {
      for (const part of [g.prover, g.weekly, g.locks, g.replacements]) part.stop();
      await close();
    },
  };
}

/** Compares a fetched answer with what is known of its days, and then has its kind proven. */
async function learnFrom(g: Gateway, news: Comparison): Promise<void> {
  const result = await g.learner.compare(news, (from, to) => fetchToLearn(g, news, from, to));
  await noteAgreed(g, news, result);
  if (result.verdict === 'same') await g.prover.fetched(news);
}

/** At the start; what fails is repeated after an hour. */
function removingOldLayout({ store, logger }: Gateway): Job {
  let isDone = false;
  return hourly(async (isStopped) => {
    if (isDone) return;
    const { months, cacheEntries } = await store.removeOldLayout(isStopped);
    isDone = !isStopped();
    if (months + cacheEntries > 0)
      logger.info({ months, cacheEntries }, 'removed history and cache entries of an earlier release');
  }, true);
}

async function sweepPins({ pins, lives, advertisers, logger }: Gateway): Promise<void> {
  try {
    await pins.sweep((owner) => isGone(owner, lives));
    await pins.removeErased();
    await advertisers.removeGone();
  } catch (error) {
    logger.warn(
      { err: error },
      'could not remove pins of deleted teams, or erased pins and advertiser names; retrying in an hour',
    );
  }
}

/** Erases the history of an account, including pins; see `erase` of the history. */
async function eraseHistory(
  { history, pins, advertisers, logger }: Gateway,
  advertiserId: string,
  audit: string,
): Promise<number | null> {
  const days = await history.erase(advertiserId, audit);
  try {
    await pins.removeErased();
    await advertisers.removeGone();
    return days;
  } catch (error) {
    logger.warn({ err: error }, 'could not remove erased pins and advertiser names; retrying in an hour');
    return null;
  }
}

function canonicalRules({ policy, clock }: ReportingOptions): ParseRules {
  const { accountFields, accountPattern, nonAccounts, timezoneOf } = policy;
  return {
    table: parameterTable(accountFields),
    endpoints: policy.endpoints,
    accountFields,
    accountPattern,
    nonAccounts,
    todayOf: (account) => dayAt(clock.now(), timezoneOf(account)),
    startOfDayOf: (account, day) => startOfDay(day, timezoneOf(account)),
  };
}
