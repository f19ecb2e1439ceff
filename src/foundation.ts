/** What a process has before it asks or is asked: the registry, who may ask, and the credential to ask the platform with. */
import type { Dispatcher } from 'undici';
import { createAuth } from './auth/auth.js';
import { opensWhatIsStored } from './auth/master-key-rule.js';
import { successionRules } from './auth/succession-rules.js';
import type { MovableClock } from './clock.js';
import type { Config, ProxySettings } from './config/load.js';
import type { Secret } from './config/secret.js';
import { createCredential } from './credential/credential.js';
import { createSealer } from './credential/seal.js';
import { countRowsOf, guessReports } from './pipeline/reference-reports.js';
import { createAgent } from './platform/client.js';
import { openPresentRegistry } from './registry/open.js';
import { saysError } from './report/error-signs.js';
import { reportPolicy } from './report-policy.js';
import type { Store } from './store/port.js';
import { nameInLife } from './team-life.js';
import type { Log } from './telemetry/logger.js';
import type { Tracing } from './telemetry/tracing.js';
import { createWriteGuard } from './write-guard/create-write-guard.js';

export interface FoundationOptions {
  readonly config: Config;
  readonly store: Store;
  readonly clock: MovableClock;
  readonly log: Log;
  readonly masterKey: Secret;
  readonly proxy: ProxySettings;
  /** The connection pool to the platform; one is made when absent. */
  readonly agent?: Dispatcher;
  /** Makes spans of requests; null or absent where nothing collects them. */
  readonly tracing?: Tracing | null;
  /** How long replicas that live are given to put a lost registry back, before a new one is begun; 0 when absent. */
  readonly graceMs?: number;
}

/** @throws StoreUnavailable, SealError when the registry cannot be read or opened */
export async function openFoundation(options: FoundationOptions) {
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
  const auth = await createAuth({ registry, sealer, counters, maxStaleMs, clock, logger });
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
  const isGuarded = (team: string) => auth.directory.team(team)?.writeGuard !== undefined;
  const nameOf = (team: string) => nameInLife(team, auth.directory.life(team));
  const guard = createWriteGuard({ config, store, registry, clock, logger, isGuarded, nameOf });
  return {
    ...{ config, policy, store, clock, log, tracing },
    ...opened,
    ...auth,
    ...guard,
    ...{ sealer, agent, platformRules, credential, nameOf },
  };
}

/** Pass-through calls stream outside of the report budget's turns while a body is under way. */
const WRITE_SOCKETS = 64;
