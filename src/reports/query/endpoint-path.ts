/** The name of a report where it is a value, and not a path that went through the gate. */

/** Segments of a path that are no `.` or `..`. */
const ENDPOINT = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

export const ENDPOINT_FAULT = 'must be the path of a report, e.g. campaigns/get';

export function isEndpointPath(text: unknown): text is string {
  return typeof text === 'string' && ENDPOINT.test(text);
}
