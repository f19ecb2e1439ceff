/** Waits for a line on its input, then makes or reads the secret in the folder it is given, and prints what came of it. */
import { once } from 'node:events';
import { localSecret } from '../../../dist/modules/platform/credential/local-secret.js';

const [folder, mine] = process.argv.slice(2);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const { value, created } = localSecret(folder, 'master.key', () => mine);
process.stdout.write(`${JSON.stringify({ value, created })}\n`);
process.exit(0);
