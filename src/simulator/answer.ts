/** The answer of a route, before the edge adds common headers. */
export interface Answer {
  readonly status: number;
  readonly type:
    | 'application/json'
    | 'application/problem+json'
    | 'text/csv; charset=UTF-8'
    | 'text/html; charset=UTF-8';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function jsonAnswer(status: number, value: unknown, headers: Answer['headers'] = {}): Answer {
  return { status, type: 'application/json', headers, body: JSON.stringify(value) };
}

/** JSON as text, which may have numbers beyond JavaScript. */
export function jsonTextAnswer(body: string): Answer {
  return { status: 200, type: 'application/json', headers: {}, body };
}

export function htmlAnswer(status: number, title: string, headers: Answer['headers'] = {}): Answer {
  const body = `<!DOCTYPE html>\n<html lang="en"><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
  return { status, type: 'text/html; charset=UTF-8', headers, body };
}

/** The framework's validation error. @param errors messages by field */
export function invalidAnswer(errors: Readonly<Record<string, readonly string[]>>): Answer {
  const messages = Object.values(errors).flat();
  const more = messages.length > 1 ? ` (and ${messages.length - 1} more errors)` : '';
  return jsonAnswer(422, { message: `${messages[0] ?? 'The given data was invalid.'}${more}`, errors });
}
