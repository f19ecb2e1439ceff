/** Whose request is this? Binds the registry's state to `authenticate`. */
import type { Clock } from '../clock.js';
import type { Registry } from '../registry/replica.js';
import { authenticate, type Caller, type KeyHeaders } from './authenticate.js';
import type { Directory } from './directory.js';

/** What is noted of a caller, for the request's log line. */
export interface SeenCaller {
  team: string | null;
  key: string | null;
}

/** @throws GatewayError 401, and `not_ready` where the registry is too old to tell */
export type Identify = (keys: KeyHeaders, seen: SeenCaller) => Caller;

/** The same, with nothing noted. @throws GatewayError as above */
export type Recognize = (keys: KeyHeaders) => Caller;

export interface RecognizeOptions {
  readonly directory: Directory;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly maxStaleMs: number;
}

export function createRecognize({ directory, registry, clock, maxStaleMs }: RecognizeOptions): Recognize {
  return (keys) =>
    authenticate(keys, {
      directory,
      nowMs: clock.now(),
      staleForMs: registry.staleForMs(),
      maxStaleMs,
    });
}

/** @param onUse told of every key that was let in */
export function createIdentify(recognize: Recognize, onUse: (keyId: string) => void): Identify {
  return function identify(keys, seen) {
    const caller = recognize(keys);
    seen.team = caller.team.id;
    seen.key = caller.key.id;
    onUse(caller.key.id);
    return caller;
  };
}
