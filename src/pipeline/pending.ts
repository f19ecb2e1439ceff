/** What those who wait for a fetch lock hold on to. */
import { GatewayError } from '../errors.js';

/** A promise that is settled from outside. */
export interface Pending<T> {
  readonly promise: Promise<T | null>;
  resolve(brought: T | null): void;
  reject(error: unknown): void;
}

export function createPending<T>(): Pending<T> {
  let resolve: Pending<T>['resolve'] = () => {};
  let reject: Pending<T>['reject'] = () => {};
  const promise = new Promise<T | null>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  // Nobody may be waiting; whoever made the call is told of its failure anyway.
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** @returns a promise that is rejected with GatewayError `upstream_timeout` when `signal` ends the wait */
export function rejectOnAbort(signal: AbortSignal): { readonly promise: Promise<never>; stop(): void } {
  let stop = () => {};
  const promise = new Promise<never>((_, reject) => {
    const abort = () => reject(new GatewayError('upstream_timeout', { cause: signal.reason }));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    stop = () => signal.removeEventListener('abort', abort);
  });
  return { promise, stop };
}
