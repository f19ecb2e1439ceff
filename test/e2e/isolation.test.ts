import { isolationSuite } from './isolation.js';

isolationSuite({});
