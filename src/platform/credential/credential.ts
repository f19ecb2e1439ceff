/** The platform's credential, wired: vault, rotation, recovery, and what it needs without anybody asking. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Dispatcher } from 'undici';
import type { Config } from '../../config/load.js';
import { tokenRequestOf } from '../../config/token-request.js';
import { randomShare } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Job } from '../../store/jobs.js';
import type { Store } from '../../store/port.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { InterpretRules } from '../interpret.js';
import { createEvidence } from './evidence.js';
import { createVaultKeeper, type VaultKeeper } from './keeper.js';
import { type Minted, mintToken } from './mint.js';
import { expiryText, type Outlook, outlookOf, renewalLeadMs, renewalTime } from './outlook.js';
import { type ProbeOptions, probeToken } from './probe.js';
import { createReferenceReports, type ReferenceReports } from './reference-reports.js';
import { createRotation, type Rotation } from './rotation.js';
import type { Sealer } from './seal.js';
import { bootstrapToken, createTokenFile, type TokenFileOptions } from './token-file.js';
import { createTokenRecovery, type TokenRecovery } from './token-recovery.js';
import { isExpired, type Token } from './vault.js';
import {
  askPlatform,
  createSight,
  type SightOptions,
  type TokenProof,
  type VerifyOptions,
} from './verify-token.js';

// Says that the active token is about to expire: once for each threshold, by one replica, also across restarts.

const RECORD = 'expiry-warning';

/** The last warning that was given. */
const Given = recordForm(
  Type.Object({ token: Type.String(), expiresAt: Type.String(), days: Type.Number() }),
);
type Given = RecordOf<typeof Given>;

interface ExpiryWarningOptions {
  readonly registry: Registry;
  readonly keeper: VaultKeeper;
  readonly outlook: () => Outlook;
  readonly logger: Logger;
}

/** @returns what is to be called now and then. It throws StoreUnavailable, SealError */
export function createExpiryWarning(options: ExpiryWarningOptions): () => Promise<void> {
  const { registry, keeper, logger } = options;
  /** Spares a look at the registry each time. */
  let settled = '';

  return async function warn() {
    const { active } = keeper.vault();
    const outlook = options.outlook();
    if (active === null || outlook.warningDays === null) return;
    const given: Given = { token: active.id, expiresAt: active.expiresAt, days: outlook.warningDays };
    const text = JSON.stringify(given);
    if (settled === text) return;
    let isOurs = false;
    await updateRecord(registry, RECORD, (stored) => {
      const before = stored === null ? null : Given.read(stored, RECORD);
      isOurs = before === null || isNews(before, given);
      return isOurs ? { text: JSON.stringify({ ...before, ...given }) } : null;
    });
    settled = text;
    if (isOurs) say(outlook, active.id);
  };

  function say(outlook: Outlook, token: string): void {
    const { expiresAt, expiryKnown, daysLeft, renewsAt } = outlook;
    const what = outlook.state === 'expired' ? 'has expired' : expiryText(outlook);
    const todo =
      renewsAt === null
        ? 'create another in the dashboard and rotate to it'
        : 'it should have been renewed by itself: see why that fails';
    logger.error({ tokenId: token, expiresAt, expiryKnown, daysLeft }, `the platform token ${what}; ${todo}`);
  }
}

function isNews(before: Given, now: Given): boolean {
  return before.token !== now.token || before.expiresAt !== now.expiresAt || before.days > now.days;
}

// Way 2 renews the active token by itself, well before it expires, and not all gateways at one moment.

const MAX_RETRY_MS = 3_600_000;
/** A pending token this young belongs to an operator who is at work. */
const AT_WORK_MS = 86_400_000;

export interface RenewalOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly renewBeforeMs: number;
  /** From 0 to 1: how far into the first tenth of the remaining time this process waits. */
  readonly jitter?: number;
}

/** @returns a job of the leader. It throws StoreUnavailable, SealError */
export function createRenewal(options: RenewalOptions): () => Promise<void> {
  const { keeper, rotation, clock, logger, renewBeforeMs, jitter = randomShare() } = options;
  let tryAgainAtMs = Number.NEGATIVE_INFINITY;

  /** An expired token is a matter of recovery, and one that nobody has to wait for. */
  function isDue(token: Token): boolean {
    if (isExpired(token, clock.now())) return false;
    const atMs = renewalTime(token, renewBeforeMs);
    return atMs !== null && clock.now() >= atMs + (jitter * renewalLeadMs(token, renewBeforeMs)) / 10;
  }

  function isOperatorAtWork(): boolean {
    const { pending } = keeper.vault();
    return pending !== null && clock.now() - Date.parse(pending.createdAt) < AT_WORK_MS;
  }

  async function renew(before: Token): Promise<void> {
    logger.info({ tokenId: before.id, expiresAt: before.expiresAt }, 'the platform token is being renewed');
    await rotation.rotate(null, false, GATEWAY_ACTOR);
    const { active } = keeper.vault();
    if (active !== null && isDue(active)) {
      logger.warn('the platform handed out the same token, with the same expiry; trying again later');
      return;
    }
    logger.info({ tokenId: active?.id, expiresAt: active?.expiresAt }, 'the platform token was renewed');
  }

  return async function renewWhenDue() {
    const { active } = keeper.vault();
    if (active === null || !isDue(active) || isOperatorAtWork() || clock.monotonicMs() < tryAgainAtMs) return;
    // Another leader may have renewed it, and the message of that not have come yet.
    await keeper.refresh();
    const latest = keeper.vault().active;
    if (latest === null || !isDue(latest)) return;
    const retryMs = Math.min(MAX_RETRY_MS, Math.max(1000, renewalLeadMs(latest, renewBeforeMs) / 10));
    tryAgainAtMs = clock.monotonicMs() + retryMs;
    await renew(latest).catch((error: unknown) => {
      logger.error({ err: error }, 'the platform token could not be renewed; trying again later');
    });
    const after = keeper.vault().active;
    if (after === null || !isDue(after)) tryAgainAtMs = Number.NEGATIVE_INFINITY;
  };
}

const DAY_MS = 86_400_000;
const TOKEN = 'PLATFORM_TOKEN';

interface CredentialOptions {
  readonly config: Config;
  readonly store: Store;
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly pepper: () => Buffer;
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly countRows: SightOptions['countRows'];
  readonly saysError: ProbeOptions['saysError'];
  /** Reports that a working token should be able to ask for: paths and queries below the base URL. */
  readonly guessReports: () => readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

type Jobs = Readonly<Record<string, Job>>;

export interface Credential {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly tokenRecovery: TokenRecovery;
  readonly referenceReports: ReferenceReports;
  outlook(): Outlook;
  /**
   * Asks the platform by the active token, as a rotation does, and remembers what it says of it.
   * @throws GatewayError `credential_unavailable` without an active token; SealError
   */
  proveActive(): Promise<TokenProof>;
  /** What {@link start} does once: plants the seed, and makes sure there is an active token. */
  establish(): Promise<void>;
  /**
   * Way 1 is planted, way 2 is minted when nothing is active; without either the gateway waits for an operator.
   * @returns the jobs that keep it up from then on
   */
  start(): Promise<{ readonly everywhere: Jobs; readonly led: Jobs }>;
}

export function createCredential(options: CredentialOptions): Credential {
  const { config, store, registry, sealer, clock, logger } = options;
  const leases = store.registryLeases;
  const referenceReports = createReferenceReports(store.documents, clock);
  const keeper = createVaultKeeper({ registry, sealer, clock, logger });
  const mint = minterOf(options);
  const canMint = mint !== null;
  const verify = verifyOptions(options, referenceReports);
  const { pepper } = options;
  const rotation = createRotation({ keeper, pepper, clock, mintToken: mint, ...verify });
  const evidence = createEvidence({ keeper, clock, logger });
  const tokenRecovery = createTokenRecovery({ keeper, rotation, evidence, canMint, leases, clock, logger });
  const renewBeforeMs = canMint ? config.platform.renewBeforeDays * DAY_MS : null;
  const outlook = () =>
    outlookOf(keeper.vault(), { nowMs: clock.now(), proof: evidence.proof(), renewBeforeMs });

  /** @returns the token that was planted, or null when none is set */
  async function establish(): Promise<string | null> {
    const planted = await plant(options, keeper, rotation);
    if (!(await tokenRecovery.ensure())) {
      logger.error(
        'there is no platform token, so the platform cannot be asked; give one by dsp-gateway token rotate, or set PLATFORM_TOKEN or the token request',
      );
    }
    return planted;
  }

  return {
    keeper,
    rotation,
    tokenRecovery,
    referenceReports,
    outlook,
    async proveActive() {
      const { id, secret } = keeper.active();
      const { targets, configured, guesses } = await verify.probeTargets();
      const all = configured ? targets : [...targets, ...guesses];
      const proof = await askPlatform(secret, all, verify.probe);
      if (proof.outcome !== 'unknown') evidence.note(id, proof.outcome);
      return proof;
    },
    async establish() {
      await establish();
    },
    async start() {
      const planted = await establish();
      const parts = { keeper, rotation, clock, logger };
      return {
        everywhere: { 'reference reports': referenceReports.flush, 'evidence of the token': evidence.flush },
        led: {
          ...(renewBeforeMs === null ? {} : { 'token renewal': createRenewal({ ...parts, renewBeforeMs }) }),
          ...fileJob(planted, options, parts),
          'expiry warning': createExpiryWarning({ registry, keeper, outlook, logger }),
        },
      };
    },
  };
}

function verifyOptions(options: CredentialOptions, referenceReports: ReferenceReports): VerifyOptions {
  const { agent, rules, countRows, saysError, clock, guessReports } = options;
  const { probe, timeoutMs, maxAnswerBytes } = options.config.platform;
  return {
    async probeTargets() {
      if (probe !== undefined) return { targets: [probe], configured: true, guesses: [] };
      const targets = (await referenceReports.list()).map(({ target }) => target);
      return { targets, configured: false, guesses: guessReports() };
    },
    probe: (target, secret) =>
      probeToken(target, secret, { agent, rules, timeoutMs, saysError, nowMs: clock.now() }),
    compareSight: createSight({ agent, rules, timeoutMs, maxAnswerBytes, referenceReports, countRows }),
  };
}

/** @returns the job that follows the token's file; none when the token is not in a file */
function fileJob(
  planted: string | null,
  { config, pepper }: CredentialOptions,
  parts: Omit<TokenFileOptions, 'file' | 'planted' | 'pepper'>,
): Jobs {
  const file = config.fileSecrets.find(({ name }) => name === TOKEN);
  if (file === undefined || planted === null) return {};
  return { 'token file': createTokenFile({ ...parts, file, planted, pepper }) };
}

/** @returns the token that was planted, or null when none is set */
async function plant(
  { config, pepper, logger }: CredentialOptions,
  keeper: VaultKeeper,
  rotation: Rotation,
): Promise<string | null> {
  const secret = config.secrets.get(TOKEN)?.read();
  if (secret === undefined) return null;
  const { tokenExpiresAt } = config.platform;
  const expiresAt = tokenExpiresAt === undefined ? null : new Date(tokenExpiresAt).toISOString();
  const source = config.fileSecrets.some(({ name }) => name === TOKEN) ? 'file' : 'seed';
  await bootstrapToken({ secret, source, expiresAt }, { keeper, rotation, pepper: pepper(), logger });
  return secret;
}

/** @returns null when there is no token request */
function minterOf({ config, agent, rules }: CredentialOptions): (() => Promise<Minted>) | null {
  const account = tokenRequestOf(config.secrets);
  if (account === null) return null;
  const { tokenPath, grantType, timeoutMs } = config.platform;
  return () => mintToken({ agent, baseUrl: rules.baseUrl, tokenPath, grantType, ...account, timeoutMs });
}
