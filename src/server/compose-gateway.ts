/** Composition of what answers reports, and of what is learned from answers. */
import { randomId } from '../lib/chance.js';
import type { MovableClock } from '../lib/clock.js';
import { createAdmit } from '../reports/admit.js';
import { createBackground, createRefreshes, createTurnQueue } from '../reports/cache/background.js';
import type { L1 } from '../reports/cache/finished.js';
import { createLookUp } from '../reports/cache/look-up.js';
import { createReplacements } from '../reports/cache/replacements.js';
import { createWorkerPool, type WorkerPool } from '../reports/cache/threads/worker-pool.js';
import { createCacheTier } from '../reports/cache/tier.js';
import { createDays, type Days } from '../reports/days/days.js';
import { fetchToLearn, probe } from '../reports/fetch/call-platform.js';
import { createCaps, createKnownCaps } from '../reports/fetch/caps.js';
import { createCheckSchedule } from '../reports/fetch/check-schedule.js';
import { checkRange, noteAgreed } from '../reports/fetch/cross-check.js';
import { createFetchLocks } from '../reports/fetch/fetch-locks.js';
import { createKnownShapes } from '../reports/fetch/known-shapes.js';
import { createSharedAttempts } from '../reports/fetch/shared-attempts.js';
import { createWeekly } from '../reports/fetch/weekly.js';
import { createWriteBehind } from '../reports/fetch/write-behind.js';
import type { Gateway } from '../reports/gateway.js';
import { createRetention } from '../reports/history/forgotten.js';
import { createAcceptedEmpty, createHistory, type HistoryOptions } from '../reports/history/history.js';
import { createOldPins } from '../reports/history/old-pins.js';
import { createPins, type TeamLives } from '../reports/history/pins.js';
import { createAdvertisers } from '../reports/learn/advertisers.js';
import { createCompared } from '../reports/learn/compared.js';
import { DayEvidence, type DayEvidenceOptions } from '../reports/learn/day-evidence.js';
import { type Comparison, createKinds, createLearner } from '../reports/learn/learn.js';
import { createProver, type Prover } from '../reports/learn/prove-kind.js';
import { createSeenUndeclared } from '../reports/learn/seen-undeclared.js';
import { createSelectable } from '../reports/learn/selectable.js';
import { divisibilityId } from '../reports/learn/state.js';
import type { ParseRules, Report } from '../reports/query/canonicalize.js';
import { dayAt, startOfDay } from '../reports/query/days.js';
import { parameterTable } from '../reports/query/parameters.js';
import { createQueryParser } from '../reports/query.js';
import type { ReportPolicy } from '../reports/report-policy.js';
import type { FreshnessRules } from '../reports/rows/freshness.js';
import type { Store } from '../store/port.js';
import type { Identify } from '../teams/auth/authenticate.js';
import type { Directory } from '../teams/auth/directory.js';
import type { TeamLimits } from '../teams/limits/limits.js';
import type { Count } from '../telemetry/counters.js';

export interface ReportingOptions
  extends Pick<HistoryOptions, 'credential' | 'erasures'>,
    Pick<DayEvidenceOptions, 'registry'>,
    Pick<
      Gateway,
      'config' | 'purges' | 'platform' | 'maxConcurrent' | 'isIdle' | 'recentCalls' | 'onReport' | 'logger'
    > {
  /** Configured rules, without learned ones. */
  readonly policy: ReportPolicy;
  readonly clock: MovableClock;
  readonly store: Store;
  readonly identify: Identify;
  readonly limits: TeamLimits;
  /** Existing and deleted teams. */
  readonly lives: TeamLives & Pick<Directory, 'team'>;
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
    store: store.days,
    encode: workerPool.encodePart,
    now: clock.now,
    logger,
    ...(store.kind === 'redis' && { onClock: clock.follow }),
    onDamaged: () => count('store_faults', { kind: 'damaged' }),
  });
  const tier = createCacheTier({
    store: store.cache,
    encode: workerPool.encode,
    logger,
    count,
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
    ...rules,
    compressMinBytes: config.cache.compressMinBytes,
    ...(observed !== null && { onUndeclared: observed.note }),
  });
  return { parse, observed };
}

const evidenceMetrics = (count: Count): DayEvidenceOptions['metrics'] => ({
  finality: (event, times) => count('finality_events', { event }, times),
  truth: (verdict, days) => count('truth_days', { verdict }, days),
});

/** What the gateway learns of reports, and the rules that follow from it. */
function composeLearned(options: ReportingOptions, days: Days, background: Gateway['background']) {
  const { config, store, clock, logger, registry, count } = options;
  const { accountFields, endpoints } = options.policy;
  const { now } = clock;
  const evidence = new DayEvidence({
    ...options,
    days,
    background,
    metrics: evidenceMetrics(count),
    isSplit: (report) => learner.status(report).state === 'proven',
  });
  const retention = createRetention({
    documents: store.documents,
    logger,
    declaredDays: config.platform.retentionDays ?? null,
    endpoints: () => endpoints.keys(),
  });
  const behind = { policy: options.policy, now, logger, background };
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
    kinds: createKinds(registry),
    policy,
    now,
    logger,
    onEvent: (event) => count('divisibility_events', { event }),
    onDependent: (what, dates) => evidence.dependent(what, dates),
  });
  return { policy, learner, evidence, retention, knownCaps, behind };
}

export function composeGateway(options: ReportingOptions) {
  const { config, store, clock, logger, registry, purges, count } = options;
  const { now } = clock;
  const background = createBackground(logger);
  const stored = composeStored(options);
  const { days } = stored;
  const { policy, learner, evidence, retention, knownCaps, behind } = composeLearned(
    options,
    days,
    background.add,
  );
  const accepted = createAcceptedEmpty(registry, purges);
  const history = createHistory({
    ...options,
    days,
    accepted,
    learner,
    background: background.add,
    rulesOf: policy.rulesFor,
    countRulesOf: (report) => evidence.countRulesOf(report),
  });
  const advertisers = createAdvertisers({
    ...options,
    documents: store.documents,
    accountFields: policy.accountFields,
  });
  const canonical = canonicalRules(options);
  const { parse, observed } = composeParser(options, { canonical, policy, now, rulesOf: policy.rulesFor });
  const g: Gateway = {
    config,
    logger,
    now,
    count,
    policy,
    canonical,
    admit: createAdmit(options),
    parse,
    background: background.add,
    ...stored,
    purges,
    history,
    accepted,
    writeBehind: createWriteBehind(background.add),
    replacements: createReplacements(store.bus, logger, (names) => g.locks.wake(names)),
    platform: options.platform,
    attempts: createSharedAttempts(MAX_WAITING),
    locks: createFetchLocks({ ...store.days, claim: days.claim }, store.bus, logger, MAX_WAITING),
    maxConcurrent: options.maxConcurrent,
    isIdle: options.isIdle,
    recentCalls: options.recentCalls,
    onReport: options.onReport,
    turns: createTurnQueue(),
    refreshes: createRefreshes(now, logger, background.add),
    learner,
    learnFrom: (news) => learnFrom(g, prover, news),
    watch: composeWatch(options, { policy, learner, history, background: background.add, g: () => g }),
    selectable: createSelectable(registry, behind),
    caps: createCaps(knownCaps, clock),
    shapes: createKnownShapes(store.documents, behind),
    retention,
    evidence,
    advertisers,
  };
  const prover = composeProver(options, g);
  const pins = composePins(options, stored.workerPool);
  const learned = [evidence, retention, advertisers, ...(observed === null ? [] : [observed])];
  return {
    g,
    prover,
    pins,
    observed,
    /** Waits for work that outlives its request, also for proofs that it causes: those begin at once. */
    async settled() {
      await background.settled();
      prover.begin();
      await background.settled();
      await Promise.all(learned.map((part) => part.flush()));
    },
    async close() {
      await history.close();
      await days.close();
      await Promise.all(learned.map((part) => part.close()));
      await stored.workerPool.close();
    },
  };
}

interface WatchParts extends Pick<Gateway, 'policy' | 'learner' | 'history' | 'background'> {
  /** The one circular dependency: comparisons may need further fetches. */
  readonly g: () => Gateway;
}

function composeWatch(
  { config, store, clock, isIdle, recentCalls }: ReportingOptions,
  { policy, learner, history, background, g }: WatchParts,
): Gateway['watch'] {
  const { now } = clock;
  const compared = createCompared(store.documents, now);
  const checks = createCheckSchedule(config.report.crossCheckEvery, { learner, policy, now, compared });
  const weekly = createWeekly({
    config,
    policy,
    now,
    background,
    checks,
    compared,
    isRecorded: history.isRecorded,
    isIdle,
    recentCalls,
    compare: (what) => checkRange(g(), what),
  });
  return { checks, compared, weekly };
}

function composeProver({ store, purges, recentCalls }: ReportingOptions, g: Gateway) {
  const { learner, policy, now, logger, background } = g;
  return createProver({
    background,
    learner,
    compared: g.watch.compared,
    policy,
    now,
    self: randomId(),
    logger,
    recentCalls,
    leases: store.registryLeases,
    purges,
    ask: (of, from, to) => probe(g, of, from, to),
  });
}

/** Compares a fetched answer with what is known of its days, and then has its kind proven. */
async function learnFrom(g: Gateway, prover: Prover, news: Comparison): Promise<void> {
  const result = await g.learner.compare(news, (from, to) => fetchToLearn(g, news, from, to));
  await noteAgreed(g, news, result);
  if (result.verdict === 'same') await prover.fetched(news);
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
