/** Log lines that wait to be written, collected into blocks; as many as there is room for. */

/** Lines are handed to the system in blocks of about so many characters. */
const BLOCK_CHARS = 65_536;
/** What waits for a slow reader, in characters; further lines are dropped. */
const MAX_WAITING_CHARS = 4_194_304;

export interface LogBacklog {
  /** Whether a whole block waits. */
  readonly hasBlock: boolean;
  /** @returns false when there is no room for the line */
  add(line: string): boolean;
  /** The next block, be it whole or not; empty when no line waits. It keeps its room until it is released. */
  take(): string;
  /** @param chars length of a block that is written, or lost */
  release(chars: number): void;
}

export function createLogBacklog(): LogBacklog {
  const whole: string[] = [];
  let open = '';
  let waitingChars = 0;
  return {
    get hasBlock() {
      return whole.length > 0;
    },
    add(line) {
      if (waitingChars >= MAX_WAITING_CHARS) return false;
      waitingChars += line.length;
      open += line;
      if (open.length >= BLOCK_CHARS) {
        whole.push(open);
        open = '';
      }
      return true;
    },
    take() {
      const first = whole.shift();
      if (first !== undefined) return first;
      const text = open;
      open = '';
      return text;
    },
    release(chars) {
      waitingChars -= chars;
    },
  };
}
