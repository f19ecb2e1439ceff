/** JSON of unknown form. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns null for invalid JSON: the parser's message would quote the text, which may be secret */
export function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @returns null for what is no JSON object */
export function parseObject(text: string): Record<string, unknown> | null {
  const value = parseOrNull(text);
  return isObject(value) ? value : null;
}
