/** A thread of the workerPool. */
import { setPriority } from 'node:os';
import { runTask } from './tasks.js';

/** Where cores are few, a cached hit goes before somebody's big miss. */
const NICE = 10;

// Linux takes 0 for the calling thread alone; elsewhere it would be the whole process.
if (process.platform === 'linux') setPriority(0, NICE);

export default runTask;
