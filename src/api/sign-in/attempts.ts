/** Attempts to sign in: what the callback needs, sealed in a cookie of its own, so that any replica can end it, once. */
import { hash } from 'node:crypto';
import Type from 'typebox';
import { randomBuffer } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { SealError, type Sealer } from '../../platform/credential/seal.js';
import type { Store } from '../../store/port.js';
import type { Checks } from '../../teams/sign-in/provider.js';

const LASTS_MS = 600_000;
const MAX_TO_CHARS = 2000;
/** 256 random bits in base64url. */
const STATE = /^[A-Za-z0-9_-]{43}$/;

/** How the provider is asked for another account: by its list of accounts, or by a new login. */
const ACCOUNTS = ['choose', 'login'] as const;
export type Account = (typeof ACCOUNTS)[number];
export const isAccount = (text: unknown): text is Account => ACCOUNTS.some((one) => one === text);

const Attempt = recordForm(
  Type.Object({
    checks: Type.Object({ state: Type.String(), nonce: Type.String(), verifier: Type.String() }),
    to: Type.String(),
    beganAtMs: Type.Number(),
    account: Type.Optional(Type.Enum([...ACCOUNTS])),
    /** The browser's session before: its strict cookie does not come with the callback. */
    before: Type.Optional(Type.String()),
  }),
);
type Attempt = RecordOf<typeof Attempt>;

interface AttemptsOptions {
  readonly plane: 'data' | 'admin';
  /** Address of this plane in browsers. */
  readonly own: URL;
  readonly isSecure: boolean;
  /** Of the callback. */
  readonly path: string;
  readonly sealer: Sealer;
  readonly store: Pick<Store, 'documents'>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createAttempts({ plane, own, isSecure, path, sealer, store, clock }: AttemptsOptions) {
  const home = new URL(plane === 'admin' ? '/' : '/explorer', own).href;
  const context = `attempt to sign in, ${plane}`;
  const nameOf = (state: string) => `dgw_sign_in_${plane}_${state.slice(0, 16)}`;
  // Lax: after a form at the provider, a strict cookie would not be sent.
  const cookie = (state: string, value: string, maxAgeS: number) =>
    `${nameOf(state)}=${value}; Path=${path}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;

  function open(text: string): Attempt | null {
    try {
      return Attempt.parse(sealer.open(text, context).toString());
    } catch (error) {
      if (error instanceof SealError) return null;
      throw error;
    }
  }

  return {
    /**
     * @param to where the person goes afterwards; another site, and no path, becomes the page of this plane
     * @param account absent: whichever is signed in at the provider
     * @param before document of the browser's session, if it has one
     */
    begin(
      to: unknown,
      { account, before }: { account?: Account; before?: string } = {},
    ): { readonly checks: Checks; readonly cookie: string } {
      const random = () => randomBuffer(32).toString('base64url');
      const checks = { state: random(), nonce: random(), verifier: random() };
      const attempt: Attempt = {
        checks,
        to: ownPage(to, own) ?? home,
        beganAtMs: clock.now(),
        ...(account && { account }),
        ...(before !== undefined && { before }),
      };
      const sealed = sealer.seal(Buffer.from(JSON.stringify(attempt)), context);
      return { checks, cookie: cookie(checks.state, sealed, LASTS_MS / 1000) };
    },
    /** @returns null if this browser has not begun it, or too long ago */
    find(state: unknown, cookies: string | undefined): Attempt | null {
      if (typeof state !== 'string' || !STATE.test(state)) return null;
      const given = `${nameOf(state)}=`;
      const [text, ...others] = (cookies ?? '').split(';').flatMap((pair) => {
        const trimmed = pair.trim();
        return trimmed.startsWith(given) ? [trimmed.slice(given.length)] : [];
      });
      const attempt = text === undefined || others.length > 0 ? null : open(text);
      const ageMs = clock.now() - (attempt?.beganAtMs ?? 0);
      return attempt?.checks.state === state && Math.abs(ageMs) <= LASTS_MS ? attempt : null;
    },
    /** Over all replicas. @returns false if it was claimed before. @throws StoreUnavailable */
    async claim({ state }: Checks): Promise<boolean> {
      const key = `sign-in:${hash('sha256', state, 'base64url')}`;
      return (await store.documents.create(key, '1', 2 * LASTS_MS)) === null;
    },
    /** Deletes its cookie. */
    end: (state: unknown) => (typeof state === 'string' && STATE.test(state) ? [cookie(state, '', 0)] : []),
  };
}

/** @returns the address of a page of this site; null for any other one */
function ownPage(to: unknown, own: URL): string | null {
  if (typeof to !== 'string' || to.length > MAX_TO_CHARS || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(to))
    return null;
  const url = URL.canParse(to, own) ? new URL(to, own) : null;
  const isOwn = url !== null && url.origin === own.origin && !url.pathname.startsWith('//');
  // Other letters than those of ASCII are several in an address, and a browser keeps no cookie above 4 KiB.
  return isOwn && url.href.length <= MAX_TO_CHARS ? url.href : null;
}
