/** Validates the endpoint of a report given as a value: as a path it is checked by `api/http/path-gate.ts`. */

/** Without segments `.` and `..`. */
const ENDPOINT = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

export const ENDPOINT_FAULT = 'must be the path of a report, e.g. campaigns/get';

export function isEndpointPath(text: unknown): text is string {
  return typeof text === 'string' && ENDPOINT.test(text);
}
