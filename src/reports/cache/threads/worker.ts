/** A thread of the pool: its exports are the tasks that it runs, by name. */
import { constants, getPriority, setPriority } from 'node:os';

export { digest, encode, encodeRows, format, tableAnswer } from './tasks.js';

/** Above the nice value of the process: where cores are few, a cached hit goes before a large miss. */
const NICER = 10;

// Linux takes 0 for the calling thread alone; elsewhere it would be the whole process.
if (process.platform === 'linux')
  setPriority(0, Math.min(constants.priority.PRIORITY_LOW, getPriority(0) + NICER));
