/** A line of the log as a person at a terminal reads it: time, level, what happened, and the rest as name=value. */
const COLOURS: Readonly<Record<string, number>> = {
  fatal: 31,
  error: 31,
  warn: 33,
  info: 32,
  debug: 36,
  trace: 90,
};

/** Control characters of a terminal, but for the line breaks of a stack. */
const UNSAFE = /(?!\n)\p{Cc}/gu;

interface PrettyOptions {
  readonly colours: boolean;
}

/** @param line of JSON, as pino writes it, with its line break. @returns the same line where it is none */
export function prettyLine(line: string, { colours }: PrettyOptions): string {
  const record = parsed(line);
  if (record === null) return line;
  const { level, time, msg, pid: _, err, ...rest } = record;
  const name = String(level);
  const shown = name.toUpperCase().padEnd(5);
  const fields = Object.entries(rest).map(([key, value]) => ` ${key}=${textOf(value)}`);
  const paint = colours ? `\u001b[${COLOURS[name] ?? 0}m${shown}\u001b[0m` : shown;
  const text = [msg === undefined ? '' : ` ${String(msg)}`, ...fields, stackOf(err)].join('');
  return `${clockOf(time)} ${paint}${text.replace(UNSAFE, '�')}\n`;
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** The date is that of the day one is looking. */
const clockOf = (time: unknown) => (typeof time === 'string' ? time.slice(11, 23) : '');

function textOf(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** Below the line, for it is long. */
function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return err === undefined ? '' : ` err=${textOf(err)}`;
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown };
  return `\n    ${String(stack ?? message ?? JSON.stringify(err)).replaceAll('\n', '\n    ')}`;
}
