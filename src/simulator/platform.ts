import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../lib/clock.js';
import { type CampaignBook, createCampaignBook } from './campaign-book.js';
import { type Advertiser, buildCatalogue } from './catalogue.js';
import { momentAt } from './days.js';
import type { Restatement } from './delivery.js';
import type { PhpInput } from './php-input.js';
import { createRateLimit, type RateLimit } from './rate-limit.js';
import { DEFAULT_SWITCHES, patchSwitches, type Switches } from './switches.js';
import { type Account, accountOf, createTokens, type Tokens } from './tokens.js';
import type { ReportQuery, Source } from './truth.js';

/** The state of one simulated platform. */
export interface Platform {
  readonly seed: number;
  readonly catalogue: ReadonlyMap<number, Advertiser>;
  readonly account: Account;
  readonly tokens: Tokens;
  readonly rateLimit: RateLimit;
  readonly campaigns: CampaignBook;
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
