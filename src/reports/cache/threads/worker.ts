/** A thread of the pool: its exports are the tasks that it runs, by name. */
import { setPriority } from 'node:os';

export { digest, encode, format, tableAnswer } from './tasks.js';

/** Where cores are few, a cached hit goes before a large miss. */
const NICE = 10;

// Linux takes 0 for the calling thread alone; elsewhere it would be the whole process.
if (process.platform === 'linux') setPriority(0, NICE);
