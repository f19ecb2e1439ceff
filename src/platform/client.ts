/**
 * The one client of the platform. Every call, report or pass-through, takes this way:
 *
 *   acquire (acquire.ts) → send (slot.ts) → (try again (retrying.ts) | pause | refuse the credential) → hand over
 */
import { type Acquire, type AcquireOptions, createAcquire } from './acquire.js';
import type { CallDeadline } from './deadline.js';
import { type CallKind, createRetrying, type Retrying, type RetryingOptions } from './retrying.js';
import { isStreamed, type PlatformRequest, type Response } from './slot.js';
import type { TokenSource } from './token-source.js';

export interface Call extends PlatformRequest {
  /** Who the call is charged to. */
  readonly team: string;
  readonly kind: CallKind;
  /** Whole time for it, milliseconds; tries and waiting included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Told when a slot was acquired, before each try, and awaited; throws, and nothing is sent. */
  readonly onSlot?: () => void | Promise<void>;
}

export interface PlatformClient {
  readonly acquire: Acquire;
  readonly retrying: Retrying;
  /**
   * Acquires a slot, makes the call, and tries again where its kind allows. `consume` takes an answer (200) or a
   * refusal (other 4xx) and reads its body; the slot is held until the body is closed.
   * @throws GatewayError for everything that is not an answer or a refusal
   */
  send<T>(call: Call, consume: (response: Response) => Promise<T>): Promise<T>;
}

export interface PlatformClientOptions extends AcquireOptions, Omit<RetryingOptions, 'tokens'> {
  readonly tokens: TokenSource;
}

export function createPlatformClient(options: PlatformClientOptions): PlatformClient {
  const acquire = createAcquire(options);
  const retrying = createRetrying(options);
  return {
    acquire,
    retrying,
    async send(call, consume) {
      const attempt = async (deadline: CallDeadline) => {
        const slot = await acquire(call.team, deadline);
        try {
          await call.onSlot?.();
        } catch (error) {
          slot.release();
          throw error;
        }
        return await slot.send(call, consume);
      };
      return await retrying(
        isStreamed(call.body) ? 'write' : call.kind,
        call.timeoutMs,
        attempt,
        call.signal,
      );
    },
  };
}
