/** The same where hits are answered before Node's HTTP reads them. */
import { isolationSuite } from './isolation.js';

isolationSuite({ HITS_ON_SOCKET: 'true' });
