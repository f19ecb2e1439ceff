/** Composition of everything behind the planes, without servers and routes. */
import type { Dispatcher } from 'undici';
import { createIdempotency } from '../api/proxy/idempotency.js';
import { createFailedRequests } from '../api/tail/failed-requests.js';
import { createTail } from '../api/tail/tail.js';
import type { Config, ProxySettings } from '../config/load.js';
import type { Secret, SecretFileFault } from '../config/secret.js';
import { createGateway } from '../gateway.js';
import { randomId } from '../lib/chance.js';
import type { MovableClock } from '../lib/clock.js';
import { VERSION } from '../lib/package-root.js';
import { createRecentMinutes } from '../lib/recent.js';
import { createAgent, createPlatformClient } from '../platform/client.js';
import { type Credential, createCredential } from '../platform/credential/credential.js';
import type { VaultKeeper } from '../platform/credential/keeper.js';
import { createSealer, SealError } from '../platform/credential/seal.js';
import { createTraffic } from '../platform/traffic.js';
import { createL1 } from '../reports/cache/finished.js';
import { createPurges } from '../reports/cache/purges.js';
import { countRowsOf, guessReports } from '../reports/fetch/reference-reports.js';
import { createErasures } from '../reports/history/erasures.js';
import { reportPolicy } from '../reports/report-policy.js';
import { saysError } from '../reports/rows/flaws.js';
import { type Job, startJobs } from '../store/jobs.js';
import type { Store } from '../store/port.js';
import { migrateRegistry, openPresentRegistry } from '../store/registry/schema.js';
import { createAuth } from '../teams/auth/auth.js';
import { ensurePepper } from '../teams/auth/pepper.js';
import { opensWhatIsStored, successionRules } from '../teams/auth/succession-rules.js';
import { nameInLife } from '../teams/auth/team.js';
import { createTellGrants } from '../teams/auth/tell-grants.js';
import { createBudgetOutlook } from '../teams/limits/budget-outlook.js';
import { createLimits } from '../teams/limits/limits.js';
import { createSeries } from '../teams/series/create-series.js';
import { createProvider } from '../teams/sign-in/provider.js';
import { createTally, type Tally } from '../teams/tally/tally.js';
import { createUsage, recallShares } from '../teams/usage/usage.js';
import { createWriteGuard } from '../teams/write-guard/create-write-guard.js';
import { createHealth, type Health, type HeldToken, readProcessHealth } from '../telemetry/health.js';
import type { Log } from '../telemetry/logger.js';
import type { Measured } from '../telemetry/measured.js';
import { createMetrics } from '../telemetry/metrics.js';
import { createRefusedKeys } from '../telemetry/refused-keys.js';
import type { CallReport } from '../telemetry/trace.js';
import type { Tracing } from '../telemetry/tracing.js';
import { composeReports } from './compose-reports.js';
import { createIncidents } from './keep-incidents.js';
import { LAYOUT } from './layout.js';
import { sharedSettings } from './shared-settings.js';

/** The token of this process and since when, updated with each heartbeat and change of the vault. */
function heldToken(keeper: Pick<VaultKeeper, 'vault' | 'onChange'>, now: () => number): () => HeldToken {
  let held: HeldToken = { tokenId: null, tokenSince: null };
  const look = () => {
    try {
      const tokenId = keeper.vault().active?.id ?? null;
      if (tokenId !== held.tokenId)
        held = { tokenId, tokenSince: tokenId === null ? null : new Date(now()).toISOString() };
    } catch (error) {
      // Reported by the state of the credential.
      if (!(error instanceof SealError)) throw error;
    }
    return held;
  };
  keeper.onChange(look);
  return look;
}

export interface Services extends Omit<Parts, 'credential'>, Omit<Credential, 'start' | 'establish'> {
  /** Waits for work that outlives its request. */
  settled(): Promise<void>;
  /** Aborts running platform calls and closes everything but the store. */
  close(): Promise<void>;
}

/** @throws StoreUnavailable, SealError */
export async function createServices(options: ServicesOptions): Promise<Services> {
  const {
    credential: { start, establish, ...credential },
    ...parts
  } = await createParts(options);
  const { registry, sealer, reporting, limits, usage, metrics, clock } = parts;
  const { logger } = parts.log;
  await recallShares(limits.shares, usage, logger);
  const { everywhere, led } = await start(() => parts.isIdle() && parts.budget.running === 0);
  const jobs = startJobs({
    everywhere: { ...everywhere, ...reporting.everywhere },
    led: {
      ...led,
      ...reporting.led,
      'changes of teams’ lists': tellGrants(parts),
      'last incidents': parts.incidents.job,
    },
    ...{ leases: parts.store.registryLeases, logger },
  });
  registry.onLoss((outcome) => metrics.count('registry_losses', { outcome }));
  parts.onAnotherRegistry('failed to create pepper and token', async () => {
    await migrateRegistry(registry, clock, logger);
    await ensurePepper(registry, sealer);
    await establish();
  });
  return {
    ...parts,
    ...credential,
    async settled() {
      await reporting.settled();
      await parts.idempotency.settled();
      await parts.reservations.settled();
    },
    async close() {
      const kept = jobs.stop();
      await parts.unknownWrites.stop();
      await parts.refusals.close();
      await reporting.close();
      await limits.close();
      parts.lastUse.end();
      await parts.tally.close();
      parts.tail.close();
      parts.failedRequests.close();
      registry.stop();
      await parts.provider?.close();
      await parts.agent.destroy();
      // Running platform calls ended with the agent.
      await kept;
    },
  };
}

const tellGrants = ({
  directory,
  store: { changes, documents },
  clock,
}: Pick<Parts, 'directory' | 'store' | 'clock'>): Job =>
  createTellGrants({ directory, changes, documents, now: clock.now });

/** What the other processes of the store learn of this one. */
const reportedBy = (health: Health, settings: Readonly<Record<string, string>>) => ({
  id: health.id,
  info: () => JSON.stringify({ ...health.own(), layout: LAYOUT, settings }),
});

/** @returns when the platform last answered one of the other processes, epoch milliseconds; 0: not known */
function hearOthers(health: Health, replicas: { readonly others: readonly { readonly info: string }[] }) {
  const heard = () => replicas.others.flatMap(({ info }) => readProcessHealth(info) ?? []);
  health.hear(heard);
  return () => Math.max(0, ...heard().map(({ failures }) => Number(failures.answeredAtMs)));
}

type Parts = Awaited<ReturnType<typeof createParts>>;

/** @throws StoreUnavailable, SealError */
async function createParts(options: ServicesOptions) {
  const { config, store, clock, log, secretFaults = () => [] } = options;
  const { logger } = log;
  const foundation = await openFoundation(options);
  const { policy, registry, directory, identify, agent, credential, nameOf } = foundation;
  const purges = createPurges(registry);
  const erasures = createErasures(registry, purges);
  const l1 = createL1(config.cache.l1MaxBytes);
  const held = heldToken(credential.keeper, clock.now);
  const health = createHealth(randomId(), () => measured, held, clock.now);
  const shared = sharedSettings(config, () => replicas.others);
  const self = reportedBy(health, shared.hashes);
  const limits = createLimits({
    ...{ store, clock, logger, teamOf: directory.team, self },
    onCharged: (team, left) => budgets.charged(team, left),
  });
  const { replicas, shares } = limits;
  const answeredMs = hearOthers(health, replicas);
  const given = { settings: config.platform, replicas, answeredMs, bus: store.bus };
  const traffic = createTraffic({ ...given, clock, logger });
  const tally = createTally({
    ...{ counters: store.counters, clock, logger, traffic, nameOf, notes: foundation.lastUse.notes },
  });
  const series = createSeries(tally, clock);
  const budgets = createBudgetOutlook({
    ...{ store, hoursOf: series.weekOf, clock, logger },
    leftOf: async (team) => (await shares.status(team)).left,
    onThreshold: (percent) => metrics.count('budget_thresholds', { percent: `${percent}` }),
  });
  const withoutSlot = createRecentMinutes(clock.now);
  const refusedKeys = createRefusedKeys(clock.now);
  const measured: Measured = {
    ...{ ...foundation, ...traffic, ...credential, settingsApart: shared.apart },
    ...{ l1, replicas, secretFaults, refusedKeys },
    ...{ recentReports: tally.recentReports, limitRefusals: tally.limitRefusals },
    withoutSlot: () => withoutSlot.sum().failed,
    failures: () => ({ ...traffic.recentCalls.last(), ...tally.failedReports() }),
    keysUntilMs: () => clock.now() - foundation.registry.staleForMs() + config.auth.maxStaleSeconds * 1000,
    isPaged: () => reporting.isPaged(),
    waitingReaders: () => reporting.feed.tail.size,
  };
  const metrics = createMetrics(measured);
  const onCall = countCalls(traffic, metrics, tally);
  credential.onOwnCall(onCall);
  const platform = createPlatformClient({
    ...traffic,
    agent,
    rules: foundation.platformRules,
    tokens: credential.tokenRecovery,
    shares,
    clock,
    logger,
    retry: config.platform.retry,
    userAgent: `dsp-gateway/${VERSION}`,
    onCall,
  });
  const idempotency = createIdempotency({ ...store, clock, logger, callMs: config.platform.timeoutMs });
  const reporting = composeReports({
    ...{ config, policy, store, clock, logger, registry, purges, erasures },
    platform,
    identify,
    l1,
    ...{ count: metrics.count, onMeasured: metrics.historyBytes },
    ...traffic,
    limits: limits.teams,
    lives: directory,
    credential: () => credential.keeper.vault().active?.fingerprint ?? null,
    onReport: credential.referenceReports.note,
  });
  const failedRequests = createFailedRequests({ bus: store.bus, clock, logger, replicas });
  return {
    ...foundation,
    ...traffic,
    measured,
    tally,
    usage: createUsage(tally, clock),
    series,
    incidents: createIncidents({
      ...{ ...series, ...failedRequests, documents: store.documents },
      ...{ health, outlook: credential.outlook, clock },
    }),
    tail: createTail({ bus: store.bus, clock, logger }),
    ...{ failedRequests, withoutSlot, refusedKeys },
    ...{ purges, erasures, l1, health, limits, budgets, metrics },
    platform,
    idempotency,
    reporting,
    gateway: createGateway(reporting),
  };
}

const countCalls =
  (
    { recentCalls }: Pick<ReturnType<typeof createTraffic>, 'recentCalls'>,
    metrics: ReturnType<typeof createMetrics>,
    tally: Tally,
  ) =>
  (call: CallReport): void => {
    recentCalls.add(call);
    metrics.platformCall(call);
    tally.addCall(call.team);
  };

interface ServicesOptions {
  readonly config: Config;
  readonly store: Store;
  readonly clock: MovableClock;
  readonly log: Log;
  readonly masterKey: Secret;
  readonly proxy: ProxySettings;
  /** The connection pool of the platform; default: a new one. */
  readonly agent?: Dispatcher;
  /** Records spans, if enabled. */
  readonly tracing?: Tracing | null;
  /** How long other replicas have to restore a lost registry before a new one is created; default 0. */
  readonly graceMs?: number;
  /** Secret files whose current content is not in use. */
  readonly secretFaults?: () => readonly SecretFileFault[];
}

/** @throws StoreUnavailable, SealError */
async function openFoundation(options: ServicesOptions) {
  const { config, store, clock, log, masterKey, proxy, graceMs = 0, tracing = null } = options;
  const { logger } = log;
  const { testClock } = config;
  const policy = reportPolicy(config);
  const sealer = createSealer(masterKey);
  const rules = successionRules(sealer);
  const opened = await openPresentRegistry({ store, clock, logger, graceMs, rules, testClock });
  const { registry } = opened;
  const { counters } = store;
  const maxStaleMs = config.auth.maxStaleSeconds * 1000;
  const auth = await createAuth({
    ...{ registry, sealer, counters, oidc: config.auth.oidc },
    maxStaleMs,
    clock,
  });
  for (const file of config.fileSecrets)
    if (file.name === masterKey.name) file.hold(opensWhatIsStored(registry));
  const connections = config.platform.maxConcurrent + WRITE_SOCKETS;
  const agent = options.agent ?? createAgent(proxy, connections);
  const { baseUrl, loginPaths } = config.platform;
  const platformRules = { baseUrl: new URL(baseUrl), loginPaths };
  const credential = createCredential({
    config,
    store,
    registry,
    sealer,
    agent,
    clock,
    logger,
    pepper: auth.tokenPepper,
    rules: platformRules,
    saysError,
    countRows: (body, reference) => countRowsOf(body, reference, policy),
    guessReports: () => {
      const seen = auth.directory
        .teams()
        .flatMap((team) => (team.advertisers === '*' ? [] : team.advertisers));
      return guessReports(seen, policy, clock.now());
    },
  });
  const provider =
    config.auth.oidc.issuer === undefined
      ? null
      : createProvider({
          oidc: config.auth.oidc,
          secret: () => config.secrets.get('OIDC_CLIENT_SECRET')?.read() ?? null,
          agent: createAgent(proxy, PROVIDER_CONNECTIONS),
          clock,
        });
  const isGuarded = (team: string) => auth.directory.team(team)?.writeGuard !== undefined;
  const nameOf = (team: string) => nameInLife(team, auth.directory.life(team));
  const guard = createWriteGuard({ config, store, registry, clock, logger, isGuarded, nameOf });
  return {
    ...{ config, policy, store, clock, log, tracing },
    ...opened,
    ...auth,
    ...guard,
    ...{ sealer, agent, provider, platformRules, credential, nameOf },
  };
}

const PROVIDER_CONNECTIONS = 8;
/** Additional sockets for pass-through calls, which stream bodies without a slot. */
const WRITE_SOCKETS = 64;
