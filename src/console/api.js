/** The admin API. The token lives in the closure below and nowhere else. */

/** A problem document (RFC 9457) as an error. */
export class Refused extends Error {
  constructor(status, { title, detail, errors = [] }) {
    super([`${title}: ${detail}`, ...errors.map(({ param, message }) => `${param}: ${message}`)].join('\n'));
    this.status = status;
  }
}

/**
 * @param {string} token
 * @returns {(method: string, path: string, body?: object) => Promise<any>} throws Refused
 */
export function createApi(token) {
  return async (method, path, body) => {
    const response = await fetch(`/admin/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
    const text = await response.text();
    if (response.ok) return text === '' ? null : JSON.parse(text);
    throw new Refused(response.status, problemOf(text, response.status));
  };
}

function problemOf(text, status) {
  try {
    const problem = JSON.parse(text);
    if (typeof problem.title === 'string') return problem;
  } catch {
    // Not even JSON: told below.
  }
  return { title: 'No answer of the admin API', detail: `status ${status}` };
}
