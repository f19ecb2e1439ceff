/** The same where nothing is answered before the router: on `debug` the fast path is off. */
import { isolationSuite } from './isolation.js';

isolationSuite({ LOG_LEVEL: 'debug' });
