import type { ServerResponse } from 'node:http';

/**
 * @returns registers a listener for the end of the answer: its last byte was given to the system, or the connection closed.
 * After the end, the listener is called at once
 */
export function onResponseClosed(raw: ServerResponse): (leave: () => void) => void {
  return (leave) => {
    if (raw.destroyed || raw.writableFinished) return leave();
    raw.once('finish', leave);
    raw.once('close', leave);
  };
}
