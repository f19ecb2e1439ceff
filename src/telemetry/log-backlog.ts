/** Log lines that wait to be written, collected into blocks; as many as there is room for. */

/** Lines are handed to the system in blocks of about so many characters. */
const BLOCK_CHARS = 65_536;
/** What waits for a slow reader, in characters; further lines are dropped. */
const MAX_WAITING_CHARS = 4_194_304;

export function createLogBacklog() {
  const whole: string[] = [];
  let open = '';
  let waitingChars = 0;
  return {
    /** Whether a whole block waits. */
    get hasBlock() {
      return whole.length > 0;
    },
    /** @returns false when there is no room for the line */
    add(line: string) {
      if (waitingChars >= MAX_WAITING_CHARS) return false;
      waitingChars += line.length;
      open += line;
      if (open.length >= BLOCK_CHARS) {
        whole.push(open);
        open = '';
      }
      return true;
    },
    /** The next block, be it whole or not; empty when no line waits. It keeps its room until it is released. */
    take() {
      const first = whole.shift();
      if (first !== undefined) return first;
      const text = open;
      open = '';
      return text;
    },
    /** @param chars length of a block that is written, or lost */
    release(chars: number) {
      waitingChars -= chars;
    },
  };
}
