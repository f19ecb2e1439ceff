import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../lib/clock.js';
import { createCampaignBook } from './campaign-book.js';
import { type Advertiser, buildCatalogue } from './catalogue.js';
import { momentAt } from './days.js';
import type { Restatement } from './delivery.js';
import type { PhpInput } from './php-input.js';
import { DEFAULT_SWITCHES, patchSwitches, type Switches } from './switches.js';
import type { ReportQuery, Source } from './truth.js';

/** The state of one simulated platform. */
export interface Platform {
  readonly seed: number;
  readonly catalogue: ReadonlyMap<number, Advertiser>;
  readonly account: ReturnType<typeof accountOf>;
  readonly tokens: ReturnType<typeof createTokens>;
  readonly rateLimit: ReturnType<typeof createRateLimit>;
  readonly campaigns: ReturnType<typeof createCampaignBook>;
  switches: Switches;
  /** Offset of `now` from the clock. */
  offsetMs: number;
  restatements: readonly Restatement[];
  /** Epoch milliseconds of this platform. */
  now(): number;
}

/** @throws InvalidInput for unknown switches or values */
export function createPlatform(seed: number, clock: Clock, switches: Partial<Switches>): Platform {
  const catalogue = buildCatalogue(seed);
  const platform: Platform = {
    seed,
    catalogue,
    account: accountOf(seed),
    tokens: createTokens(seed),
    rateLimit: createRateLimit(),
    campaigns: createCampaignBook(catalogue),
    switches: patchSwitches(DEFAULT_SWITCHES, switches),
    offsetMs: 0,
    restatements: [],
    now: () => clock.now() + platform.offsetMs,
  };
  return platform;
}

/** Access tokens derive from the seed, so that a restarted simulator accepts its dashboard token. */
function createTokens(seed: number) {
  const expiry = new Map<string, number>();
  return {
    issue(now: number, ttlSeconds: number): string {
      const token = secret(seed, `token ${expiry.size + 1}`);
      expiry.set(token, now + ttlSeconds * 1000);
      return token;
    },
    accepts: (token: string, now: number) => now < (expiry.get(token) ?? 0),
    /** @param token absent: all. @throws RangeError for a token that was never issued */
    revoke(token?: string): void {
      if (token !== undefined && !expiry.has(token)) throw new RangeError('no such token was ever issued');
      for (const known of token === undefined ? [...expiry.keys()] : [token]) expiry.set(known, 0);
    },
    get count(): number {
      return expiry.size;
    },
  };
}

/** Credentials of the parent account, for dashboard and token requests. */
function accountOf(seed: number) {
  return {
    username: 'parent@agency.example',
    password: secret(seed, 'password').slice(0, 20),
    clientId: 1000 + (Math.abs(seed) % 9000),
    clientSecret: secret(seed, 'client secret').slice(0, 40),
  };
}

/** @returns 86 URL-safe characters, like the platform's */
function secret(seed: number, purpose: string): string {
  return createHmac('sha512', `simulator ${seed}`).update(purpose).digest('base64url');
}

const MINUTE_MS = 60_000;

/** The framework's fixed window: a minute that starts with the first call after the previous window. */
function createRateLimit() {
  const windows = new Map<string, { startedAt: number; used: number }>();
  return {
    /** Charges one call to a credential. */
    take(credential: string, now: number, perMinute: number) {
      let window = windows.get(credential);
      if (!window || now >= window.startedAt + MINUTE_MS || now < window.startedAt) {
        window = { startedAt: now, used: 0 };
        windows.set(credential, window);
      }
      const granted = window.used < perMinute;
      if (granted) window.used++;
      return {
        granted,
        remaining: Math.max(0, perMinute - window.used),
        retryAfterS: Math.ceil((window.startedAt + MINUTE_MS - now) / 1000),
      };
    },
  };
}

/** A call after processing by web server and framework. */
export interface PlatformCall {
  /** After method override. */
  readonly method: string;
  /** Decoded, without empty or dot segments and base path. */
  readonly path: string;
  /** Scheme, host and base path of the call. */
  readonly origin: string;
  readonly headers: IncomingHttpHeaders;
  readonly input: PhpInput;
  readonly body: string;
}

/** @returns the token of `authorization: Bearer <token>`, or undefined (RFC 6750, section 2.1) */
export const bearerOf = ({ authorization }: IncomingHttpHeaders): string | undefined =>
  /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];

/**
 * The input of the pure report functions.
 * @param at epoch milliseconds; later restatements are unknown
 * @param emptyDays day numbers without rows
 */
export function sourceOf(
  platform: Platform,
  query: ReportQuery,
  at: number,
  emptyDays: ReadonlySet<number>,
): Source {
  const { switches, seed, catalogue, restatements } = platform;
  const { completion, restateDays, lateRows, timezone, divisible, columnFrom, renameFrom } = switches;
  const isSince = (instant: string) => instant !== '' && at >= Date.parse(instant);
  const attributed = query.byDate && !divisible ? { attributedTo: { from: query.from, to: query.to } } : {};
  return {
    catalogue,
    emptyDays,
    tellsViewable: isSince(columnFrom),
    renamed: isSince(renameFrom),
    world: {
      seed,
      moment: momentAt(at, timezone),
      completion: { kind: completion, restateDays },
      lateRows,
      restatements: restatements.filter((restatement) => restatement.at <= at),
      ...attributed,
    },
  };
}
