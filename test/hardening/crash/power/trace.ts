/** What strace wrote down of a process: its calls that change files, in their order. Pure. */

/** What strace is asked for; `parseTrace` relies on each. Strings are in hex, and never cut. */
export const STRACE_OPTIONS: readonly string[] = [
  ...['-f', '--seccomp-bpf', '-y', '-xx', '-ttt', '-s', String(64 * 1024 * 1024), '-e'],
  `trace=openat,creat,write,pwrite64,writev,pwritev,pwritev2,sendmsg,lseek,ftruncate,fallocate,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,mkdir,mkdirat`,
];

interface Call {
  /** The place in the trace at which the call began, and the one at which it had ended; Infinity: it never did. */
  readonly from: number;
  readonly to: number;
}

/** Paths are absolute. A descriptor is known by its number and its path: processes share files by name alone. */
export type FileCall = Call &
  (
    | {
        readonly kind: 'open';
        readonly path: string;
        readonly descriptor: number;
        readonly creates: boolean;
        readonly truncates: boolean;
        readonly appends: boolean;
        /** Every write waits for the disk (O_SYNC, O_DSYNC). */
        readonly syncs: boolean;
      }
    | {
        readonly kind: 'write';
        readonly path: string;
        readonly descriptor: number;
        /** Null: where the descriptor stands. */
        readonly offset: number | null;
        readonly bytes: Buffer;
      }
    | { readonly kind: 'seek'; readonly path: string; readonly descriptor: number; readonly offset: number }
    | { readonly kind: 'resize'; readonly path: string; readonly size: number }
    | { readonly kind: 'sync'; readonly path: string }
    | { readonly kind: 'make folder'; readonly path: string }
    | { readonly kind: 'remove'; readonly path: string }
    | { readonly kind: 'rename' | 'link'; readonly path: string; readonly target: string }
  );

export interface Trace {
  readonly calls: readonly FileCall[];
  /** Where something had been sent over a socket: the place, and when, milliseconds since the Unix epoch. */
  readonly sent: readonly { readonly at: number; readonly ms: number }[];
  /** How many places there are. */
  readonly length: number;
}

interface Begun {
  readonly from: number;
  readonly text: string;
}

const LINE = /^(\d+) +(\d+\.\d+) (.*)$/s;
const ENDED = /^(\w+)\((.*)\) += (-?\d+)(.*)$/s;
const RESUMED = /^<\.\.\. \w+ resumed>(.*)$/s;
const UNFINISHED = ' <unfinished ...>';

/**
 * @param lines as strace wrote them, with {@link STRACE_OPTIONS}
 * @throws Error for a call that changes a file in a way that is not known here
 */
export function parseTrace(lines: Iterable<string>): Trace {
  const calls: FileCall[] = [];
  const sent: { at: number; ms: number }[] = [];
  const begun = new Map<string, Begun>();
  let at = 0;

  function take(text: string, from: number, to: number, ms: number): void {
    const [, name = '', args = '', result = ''] = ENDED.exec(text) ?? [];
    if (name === '' || Number(result) < 0) return;
    if (/^(?:write|writev|sendmsg)$/.test(name) && SOCKET.test(args)) sent.push({ at: to, ms });
    else {
      const call = callOf(name, args, Number(result), { from, to });
      if (call !== null) calls.push(call);
    }
  }

  for (const line of lines) {
    const [, thread = '', seconds = '', text = ''] = LINE.exec(line) ?? [];
    if (thread === '') continue;
    at += 1;
    const ms = Number(seconds) * 1000;
    const resumed = RESUMED.exec(text);
    if (text.endsWith(UNFINISHED)) begun.set(thread, { from: at, text: text.slice(0, -UNFINISHED.length) });
    else if (resumed === null) take(text, at, at, ms);
    else {
      const first = begun.get(thread);
      begun.delete(thread);
      if (first !== undefined) take(`${first.text}${resumed[1]}`, first.from, at, ms);
    }
  }
  // What had not ended when the process was killed may have been done.
  for (const { from, text } of begun.values()) takeUnended(text, from);
  calls.sort((one, other) => one.from - other.from);
  return { calls, sent, length: at };

  function takeUnended(text: string, from: number): void {
    const name = /^(\w+)\(/.exec(text)?.[1] ?? '';
    if (!/^p?write/.test(name)) return;
    const call = callOf(name, text.slice(name.length + 1), Number.NaN, { from, to: Infinity });
    if (call !== null) calls.push(call);
  }
}

// `socket:[` and `TCP:[` in hex.
const SOCKET = /^\d+<(?:\\x73\\x6f\\x63\\x6b\\x65\\x74|\\x54\\x43\\x50)/;
const DESCRIPTOR = /^(\d+)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?/;
const TEXTS = /"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g;

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll('\\x', ''), 'hex');

/** @returns null for what changes no file of a name */
function callOf(name: string, args: string, result: number, place: Call): FileCall | null {
  const [whole = '', number = '', hexPath = '', deleted] = DESCRIPTOR.exec(args) ?? [];
  const path = bytesOf(hexPath).toString();
  const descriptor = Number(number);
  // Neither a file that has no name any more, nor what is no file.
  const isFile = path.startsWith('/') && deleted === undefined;
  const rest = args.slice(whole.length);
  switch (name) {
    case 'openat':
    case 'creat':
      return openOf(name, args, result, place);
    case 'write':
    case 'writev':
    case 'pwrite64':
    case 'pwritev':
    case 'pwritev2':
      return isFile ? { kind: 'write', path, descriptor, ...place, ...writtenOf(name, rest, result) } : null;
    case 'lseek':
      return isFile ? { kind: 'seek', path, descriptor, offset: result, ...place } : null;
    case 'ftruncate':
      return isFile ? { kind: 'resize', path, size: Number(rest.replace(', ', '')), ...place } : null;
    case 'fsync':
    case 'fdatasync':
      return isFile ? { kind: 'sync', path, ...place } : null;
    case 'fallocate':
    case 'sync_file_range':
      if (isFile && name === 'fallocate') throw new Error(`${name} of ${path} is not known here`);
      return null;
    default:
      return namedOf(name, args, place);
  }
}

function writtenOf(name: string, rest: string, result: number): { offset: number | null; bytes: Buffer } {
  const texts = [...rest.matchAll(TEXTS)];
  if (texts.some(([, , cut]) => cut !== undefined)) throw new Error(`a ${name} was cut short by strace`);
  const asked = Buffer.concat(texts.map(([, hex = '']) => bytesOf(hex)));
  // The last but one of pwritev2, whose last are flags.
  const last = name === 'pwritev2' ? /, (\d+), \w+$/ : /, (\d+)$/;
  const offset = name.startsWith('p') ? Number(last.exec(rest)?.[1]) : null;
  return { offset, bytes: Number.isNaN(result) ? asked : asked.subarray(0, result) };
}

function openOf(name: string, args: string, descriptor: number, place: Call): FileCall | null {
  const [path] = pathsOf(args);
  if (path === undefined) return null;
  const flags =
    name === 'creat' ? ['O_CREAT', 'O_TRUNC'] : (/, (O_[A-Z_|]+)/.exec(args)?.[1] ?? '').split('|');
  const has = (flag: string) => flags.includes(flag);
  if (!(has('O_WRONLY') || has('O_RDWR') || name === 'creat')) return null;
  return {
    ...{ kind: 'open', path, descriptor, ...place, creates: has('O_CREAT'), truncates: has('O_TRUNC') },
    ...{ appends: has('O_APPEND'), syncs: has('O_SYNC') || has('O_DSYNC') },
  };
}

function namedOf(name: string, args: string, place: Call): FileCall | null {
  const [path, other] = pathsOf(args);
  if (path === undefined) return null;
  if (/^mkdir/.test(name)) return { kind: 'make folder', path, ...place };
  if (/^(?:unlink|rmdir)/.test(name)) return { kind: 'remove', path, ...place };
  if (other === undefined) return null;
  return { kind: name.startsWith('link') ? 'link' : 'rename', path, target: other, ...place };
}

const PATHS = /(?:(?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})*)>, )?"((?:\\x[0-9a-f]{2})*)"/g;

/** A name that is not absolute stands below the folder in front of it. */
function pathsOf(args: string): string[] {
  return [...args.matchAll(PATHS)].flatMap(([, folder, name = '']) => {
    const text = bytesOf(name).toString();
    if (text.startsWith('/')) return [text];
    return folder === undefined ? [] : [`${bytesOf(folder)}/${text}`];
  });
}
