/** Calls of the history's store, with what a caller is told where it keeps nothing, or does not answer. */
import { GatewayError } from '../errors.js';
import { StoreUnavailable } from '../store/port.js';

export interface KeptWhere {
  readonly enabled: boolean;
}

/** @throws GatewayError `not_known_then` where no history is kept; `not_ready` while the store is away */
export async function guarded<T>({ enabled }: KeptWhere, work: () => Promise<T>): Promise<T> {
  if (!enabled)
    throw new GatewayError('not_known_then', {
      detail: 'No history is kept: an operator has set history.enabled to false.',
    });
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new GatewayError('not_ready', {
      detail: 'The store of the history does not answer.',
      cause: error,
    });
  }
}
