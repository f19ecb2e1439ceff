import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import {
  activate,
  createToken,
  discard,
  dropExpired,
  EMPTY_VAULT,
  fingerprintOf,
  hasSeen,
  isExpired,
  LIFETIME_MS,
  markRefused,
  markVerified,
  mayRecover,
  type NewToken,
  noteRecovery,
  renew,
  rollback,
  showToken,
  stage,
  type Token,
  type Vault,
} from '../../../src/platform/credential/vault.js';
import { thrownBy } from '../../support/problems.js';
import { runs } from '../../support/runs.js';
import { DAY } from '../../support/test-clock.js';

const PEPPER = randomBytes(32);
const NOW = Date.parse('2026-11-21T12:00:00Z');
const iso = (ms: number) => new Date(ms).toISOString();

function token(secret: string, from: Partial<NewToken> = {}, nowMs = NOW): Token {
  return createToken({ secret, source: 'staged', expiresAt: null, ...from }, PEPPER, nowMs);
}

/** The code of the refusal, or the vault. */
function attempt(move: () => Vault): Vault | string {
  try {
    return move();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.code;
  }
}

describe('a token', () => {
  it('lives a year from when it was first seen, unless it is known better', () => {
    expect(token('a')).toMatchObject({ expiresAt: iso(NOW + LIFETIME_MS), expiryKnown: false });
    expect(LIFETIME_MS).toBe(365 * DAY);
    const known = token('a', { expiresAt: iso(NOW + DAY) });
    expect(known).toMatchObject({ expiresAt: iso(NOW + DAY), expiryKnown: true, createdAt: iso(NOW) });
    expect(isExpired(known, NOW + DAY - 1)).toBe(false);
    expect(isExpired(known, NOW + DAY)).toBe(true);
  });

  it('is known by a keyed fingerprint and a random id, neither of which shows it', () => {
    const [one, two] = [token('secret'), token('secret')];
    expect(one.fingerprint).toBe(two.fingerprint);
    expect(one.id).not.toBe(two.id);
    expect(one.fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(fingerprintOf('secret', randomBytes(32))).not.toBe(one.fingerprint);
    expect(token('secret2').fingerprint).not.toBe(one.fingerprint);
  });

  it('is shown without its secret, and with whether its expiry is known', () => {
    expect(showToken(null)).toBeNull();
    const shown = showToken(token('secret'));
    expect(Object.keys(shown ?? {})).toEqual([
      'id',
      'fingerprint',
      'source',
      'createdAt',
      'expiresAt',
      'expiryKnown',
      'verifiedAt',
      'refusedAt',
    ]);
    expect(JSON.stringify(shown)).not.toContain('secret');
  });
});

/** What the vault should be, told without its code: the names of the tokens in its slots, and what is known of them. */
interface Model {
  active: string | null;
  pending: string | null;
  previous: string | null;
  readonly verified: Set<string>;
  readonly expiresAt: Map<string, number>;
  readonly refused: Set<string>;
  readonly seen: Set<string>;
  nowMs: number;
}

type Step =
  | { readonly do: 'stage'; readonly secret: string; readonly days: number }
  | { readonly do: 'verify' | 'discard' | 'refuse' | 'clean' }
  | { readonly do: 'activate' | 'rollback'; readonly force: boolean }
  | { readonly do: 'renew' | 'wait'; readonly days: number };

const days = fc.integer({ min: 1, max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('stage' as const), secret: fc.constantFrom('a', 'b', 'c'), days }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('verify' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('activate' as const), force: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollback' as const), force: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('discard' as const, 'refuse' as const, 'clean' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('renew' as const, 'wait' as const), days }) },
);

/** Plays one step on the model. @returns the code of the refusal it expects, or null */
function expectStep(model: Model, asked: Step, id: string | null): string | null {
  const isOver = (name: string | null) => name !== null && (model.expiresAt.get(name) ?? 0) <= model.nowMs;
  const secretOf = (name: string | null) => name?.split('#')[0];
  switch (asked.do) {
    case 'stage':
      if (model.active !== null && secretOf(model.active) === asked.secret) {
        // The active one once more: only its expiry may be new.
        const expiresAt = model.nowMs + asked.days * DAY;
        if (model.expiresAt.get(model.active) === expiresAt) return 'conflict';
        model.expiresAt.set(model.active, expiresAt);
        return null;
      }
      model.pending = id;
      model.seen.add(asked.secret);
      model.expiresAt.set(id as string, model.nowMs + asked.days * DAY);
      return null;
    case 'verify':
      if (model.pending !== null) model.verified.add(model.pending);
      return null;
    case 'activate':
      if (model.pending === null || isOver(model.pending)) return 'conflict';
      if (!asked.force && !model.verified.has(model.pending)) return 'verification_failed';
      model.previous = model.active;
      model.active = model.pending;
      model.pending = null;
      return null;
    case 'rollback':
      if (model.previous === null || isOver(model.previous)) return 'conflict';
      if (model.refused.has(model.previous) && !asked.force) return 'conflict';
      [model.active, model.previous] = [model.previous, model.active];
      return null;
    case 'discard':
      if (model.pending === null) return 'conflict';
      model.pending = null;
      return null;
    case 'refuse':
      if (model.active !== null) model.refused.add(model.active);
      return null;
    case 'clean':
      if (isOver(model.previous)) model.previous = null;
      return null;
    case 'renew':
      if (model.active !== null)
        model.expiresAt.set(
          model.active,
          Math.max(model.expiresAt.get(model.active) ?? 0, model.nowMs + asked.days * DAY),
        );
      return null;
    case 'wait':
      model.nowMs += asked.days * DAY;
      return null;
  }
}

function playStep(vault: Vault, asked: Step, nowMs: number, staged: Token | null): Vault {
  switch (asked.do) {
    case 'stage':
      return stage(vault, staged as Token);
    case 'verify':
      return vault.pending === null ? vault : markVerified(vault, vault.pending.id, nowMs);
    case 'activate':
      return activate(vault, asked.force, nowMs);
    case 'rollback':
      return rollback(vault, asked.force, nowMs);
    case 'discard':
      return discard(vault);
    case 'refuse':
      return noteRecovery(vault, nowMs);
    case 'clean':
      return dropExpired(vault, nowMs);
    case 'renew':
      return renew(vault, iso(nowMs + asked.days * DAY), true);
    case 'wait':
      return vault;
  }
}

describe('the vault', () => {
  it('does in every state what the model does, and nothing at all when it refuses', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (script) => {
        let vault = EMPTY_VAULT;
        const names = new Map<string, string>();
        const model: Model = {
          active: null,
          pending: null,
          previous: null,
          verified: new Set(),
          expiresAt: new Map(),
          refused: new Set(),
          seen: new Set(),
          nowMs: NOW,
        };
        for (const [index, asked] of script.entries()) {
          const staged =
            asked.do === 'stage'
              ? token(asked.secret, { expiresAt: iso(model.nowMs + asked.days * DAY) }, model.nowMs)
              : null;
          const name = asked.do === 'stage' ? `${asked.secret}#${index}` : null;
          if (staged !== null && name !== null) names.set(staged.id, name);
          const before = structuredClone(vault);
          const frozen = vault;
          const refusal = expectStep(model, asked, name);
          const outcome = attempt(() => playStep(frozen, asked, model.nowMs, staged));
          // Values in, values out: what went in is as it was.
          expect(frozen).toEqual(before);
          if (refusal !== null) expect(outcome).toBe(refusal);
          else vault = outcome as Vault;

          for (const slot of ['active', 'pending', 'previous'] as const) {
            const held = vault[slot];
            expect(held === null ? null : names.get(held.id), slot).toBe(model[slot]);
            if (held === null) continue;
            const known = names.get(held.id) as string;
            expect(held.verifiedAt !== null, 'verified').toBe(model.verified.has(known));
            expect(held.refusedAt !== null, 'refused').toBe(model.refused.has(known));
            expect(Date.parse(held.expiresAt)).toBe(model.expiresAt.get(known));
            expect(held.secret).toBe(known.split('#')[0]);
          }
          for (const secret of ['a', 'b', 'c'])
            expect(hasSeen(vault, fingerprintOf(secret, PEPPER))).toBe(model.seen.has(secret));
        }
      }),
      runs(200, 1000),
    );
  });

  it('says why it refuses', () => {
    const staged = stage(EMPTY_VAULT, token('a', { expiresAt: iso(NOW + DAY) }));
    const detail = (move: () => Vault) => {
      try {
        move();
      } catch (error) {
        return (error as GatewayError).options.detail;
      }
      return expect.unreachable();
    };
    expect(detail(() => activate(EMPTY_VAULT, true, NOW))).toBe('There is no pending token.');
    expect(detail(() => activate(staged, false, NOW))).toContain('not verified');
    expect(detail(() => activate(staged, true, NOW + DAY))).toContain('has expired');
    expect(detail(() => stage(activate(staged, true, NOW), token('a')))).toContain('the active one already');
    expect(detail(() => rollback(staged, false, NOW))).toContain('no previous token');
    expect(detail(() => discard(EMPTY_VAULT))).toContain('no pending token');
    const rotated = activate(stage(activate(staged, true, NOW), token('b')), true, NOW);
    expect(detail(() => rollback(rotated, true, NOW + DAY))).toContain('previous token has expired');
  });

  it('gives itself back when nothing changes, so that nothing is written', () => {
    const vault = activate(stage(EMPTY_VAULT, token('a')), true, NOW);
    expect(markVerified(vault, 'tok_unknown', NOW)).toBe(vault);
    expect(dropExpired(vault, NOW + 10 * LIFETIME_MS)).toBe(vault);
    expect(renew(vault, iso(NOW), true)).toBe(vault);
    expect(renew(EMPTY_VAULT, iso(NOW), true)).toBe(EMPTY_VAULT);
  });

  it('remembers a thousand tokens, and those it holds for ever', () => {
    let vault = activate(stage(EMPTY_VAULT, token('first')), true, NOW);
    for (let index = 0; index < 1000; index++) vault = stage(vault, token(`later-${index}`));
    expect(vault.seen).toHaveLength(1000);
    expect(hasSeen(vault, fingerprintOf('later-0', PEPPER))).toBe(true);
    // Pushed out of the list, and still the active one.
    expect(vault.seen).not.toContain(fingerprintOf('first', PEPPER));
    expect(hasSeen(vault, fingerprintOf('first', PEPPER))).toBe(true);
  });
});

describe('recoveries', () => {
  it('are at most three within a minute', () => {
    let vault = activate(stage(EMPTY_VAULT, token('a')), true, NOW);
    for (const after of [0, 1000, 2000]) {
      expect(mayRecover(vault, NOW + after)).toBe(true);
      vault = noteRecovery(vault, NOW + after);
    }
    expect(mayRecover(vault, NOW + 59_999)).toBe(false);
    expect(mayRecover(vault, NOW + 60_000)).toBe(true);
    vault = noteRecovery(vault, NOW + 60_000);
    expect(vault.recoveredAt).toHaveLength(3);
    expect(mayRecover(vault, NOW + 60_500)).toBe(false);
    // A clock that was moved back does not block them.
    expect(mayRecover(vault, NOW - DAY)).toBe(true);
  });

  it('are noted in an empty vault, too', () => {
    expect(noteRecovery(EMPTY_VAULT, NOW)).toEqual({ ...EMPTY_VAULT, recoveredAt: [iso(NOW)] });
  });
});

it('says of the active token, given again, that another is needed where the platform refuses it', () => {
  const active = activate(stage(EMPTY_VAULT, token('a')), true, NOW);
  const help = (vault: Vault) => thrownBy(() => stage(vault, token('a'))).options.help;
  expect(help(active)).toMatch(/^Nothing needs to be done/);
  const refused = markRefused(active, active.active?.id ?? '', NOW);
  expect(help(refused)).toMatch(/^The platform refuses it: create another token/);
});
