/** Stage: whose request is this? Binds the registry's state to `authenticate`. */

import type { Clock } from '../clock.js';
import type { Registry } from '../registry/mirror.js';
import type { Trace } from '../telemetry/trace.js';
import { authenticate, type Caller, type KeyHeaders } from './authenticate.js';
import type { Directory } from './directory.js';

export type Identify = (keys: KeyHeaders, trace: Trace) => Caller;

export interface IdentifyOptions {
  readonly directory: Directory;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly maxStaleMs: number;
  /** Told of every key that was let in. */
  readonly onUse: (keyId: string) => void;
}

export function createIdentify({ directory, registry, clock, maxStaleMs, onUse }: IdentifyOptions): Identify {
  return function identify(keys, trace) {
    const caller = authenticate(keys, {
      directory,
      nowMs: clock.now(),
      staleForMs: registry.staleForMs(),
      maxStaleMs,
    });
    trace.team = caller.team.id;
    trace.key = caller.key.id;
    onUse(caller.key.id);
    return caller;
  };
}
