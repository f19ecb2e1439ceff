/**
 * What one request still waits for the store. Once a call was not answered in time the rest of the request goes on as if
 * the store were away: it reads nothing more, and what it writes, locks and releases is sent, but not waited for. So a
 * slow store costs a request one time-out, not one for each of its calls.
 */
export interface Patience {
  isSpent: boolean;
}

export function newPatience(): Patience {
  return { isSpent: false };
}
