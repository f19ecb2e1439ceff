import { OPEN_CHARGES_MAX } from './charges-port.js';
import { StoreUnavailable } from './port.js';

/** What both adapters say of one charge too many. */
export function tooManyOpen(): StoreUnavailable {
  return new StoreUnavailable(`${OPEN_CHARGES_MAX} charges are open, and no more are taken`, 'no-room');
}
