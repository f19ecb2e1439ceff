/** The end of a request, whichever way it comes. */
import type { ServerResponse } from 'node:http';

/**
 * @returns tells when the last byte of the answer was handed to the system, and when the connection is gone; at once
 * when that was so before anybody asked, for then no event comes any more
 */
export function onResponseClosed(raw: ServerResponse): (leave: () => void) => void {
  return (leave) => {
    if (raw.destroyed || raw.writableFinished) {
      leave();
      return;
    }
    raw.once('finish', leave);
    raw.once('close', leave);
  };
}
