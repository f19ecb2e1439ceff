/** The entry of a worker thread. */
import { runTask } from './tasks.js';

export default runTask;
