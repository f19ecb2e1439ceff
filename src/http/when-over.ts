/** The end of a request, whichever way it comes. */
import type { FastifyReply } from 'fastify';

/** @returns tells when the last byte of the answer was handed to the system, and when the connection is gone */
export function whenOver({ raw }: FastifyReply): (leave: () => void) => void {
  return (leave) => {
    raw.once('finish', leave);
    raw.once('close', leave);
  };
}
