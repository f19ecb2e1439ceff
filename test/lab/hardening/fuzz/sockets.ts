/** Requests as bytes on a socket: those of the corpus, as they are and nearly so. */
import { connect } from 'node:net';
import type { Chance } from '../../../simulation/chance-of-seed.js';
import { ADMIN_TOKEN, startGateway } from '../../../support/start-gateway.js';
import corpus from './corpus.json' with { type: 'json' };
import { mutated } from './mutate.js';
import { said, type Target } from './target.js';
import { wrongBytes, wrongCalls } from './wire.js';

/** A request that is never finished is given up by the gateway after this. */
const REQUEST_SECONDS = 5;
/** Nobody waits for what never comes: a caller that has said all it will ends its side, and is taken for gone then. */
const PATIENCE_MS = 30;
/** Longer no connection stays open that the caller has ended. */
const LONGEST_MS = 3 * REQUEST_SECONDS * 1000;
const CANARY = 'team-that-nobody-may-see';
const ADMIN_PATHS = [
  ...['/admin/v1/teams', `/admin/v1/teams/${CANARY}`, '/admin/v1/token', '/admin/v1/cache/purge'],
  ...['/admin/v1/registry/export', '/admin/v1/status', '/admin/v1/audit', '/console', '/console/api/session'],
] as const;
const WHOLE = corpus[0]?.text ?? '';

export async function sockets(): Promise<Target> {
  const config = { server: { requestTimeoutSeconds: REQUEST_SECONDS } };
  const gateway = await startGateway({ logLevel: 'error', config });
  const key = await gateway.addTeam({ advertisers: [1], scopes: ['report:read'] });
  const { simulator, data } = gateway;
  const { port } = new URL(await data.listen({ port: 0, host: '127.0.0.1' }));
  const secrets = [simulator.token, key];
  return {
    name: 'Requests on a socket',
    what: 'Bytes that are nearly HTTP, from a corpus: smuggled requests, lengths, foldings, hosts, paths. The platform sees nothing but whole questions about the team’s own advertiser.',
    async tryOne(chance) {
      const text = inputOf(chance).replaceAll('{key}', key);
      const before = simulator.calls.length;
      const answered = await say(Number(port), text, chance, PATIENCE_MS);
      const told = simulator.calls.slice(before);
      const wrong =
        wrongBytes(answered, secrets) ??
        wrongCalls(told, simulator.token) ??
        wrongLog(gateway.logText, secrets);
      if (wrong !== null) return said(text, wrong);
      const whole = await say(Number(port), WHOLE.replaceAll('{key}', key), chance, LONGEST_MS);
      return whole.startsWith('HTTP/1.1 200 ')
        ? null
        : `${JSON.stringify(text)} then a report: ${whole.slice(0, 200)}`;
    },
    close: () => gateway.close(),
  };
}

/** As it is, nearly so, or the beginning of one with the end of another. */
function inputOf(chance: Chance): string {
  const one = chance.pick(corpus).text;
  if (chance.is(0.2)) return one;
  if (chance.is(0.7)) return mutated(one, chance);
  const other = chance.pick(corpus).text;
  return one.slice(0, chance.below(one.length + 1)) + other.slice(chance.below(other.length + 1));
}

function wrongLog(text: string, secrets: readonly string[]): string | null {
  return secrets.some((secret) => text.includes(secret)) ? 'left a secret in the log' : null;
}

/** The same, said to the admin plane by one who has no admin token, but a key of a team. */
export async function adminSockets(): Promise<Target> {
  const config = { server: { requestTimeoutSeconds: REQUEST_SECONDS } };
  const gateway = await startGateway({ logLevel: 'error', config });
  const key = await gateway.addTeam({ id: CANARY });
  const { port } = new URL(await gateway.admin.listen({ port: 0, host: '127.0.0.1' }));
  const secrets = [gateway.simulator.token, key, ADMIN_TOKEN, CANARY];
  const teams = async () => JSON.stringify(await gateway.manage('GET', '/teams'));
  const before = await teams();
  return {
    name: 'Requests on a socket of the admin plane',
    what: 'The same bytes to the paths of the admin plane, with the key of a team in the place of the admin token: nothing is told, nothing is changed, nothing is asked of the platform.',
    async tryOne(chance) {
      const text = toAdminPlane(inputOf(chance), chance).replaceAll('{key}', key);
      const wrong =
        wrongBytes(await say(Number(port), text, chance, PATIENCE_MS), secrets) ??
        wrongLog(gateway.logText, secrets) ??
        (gateway.simulator.calls.length > 0 ? 'the platform was asked' : null);
      if (wrong !== null) return said(text, wrong);
      return (await teams()) === before ? null : said(text, 'changed the teams');
    },
    close: () => gateway.close(),
  };
}

const toAdminPlane = (text: string, chance: Chance): string =>
  text
    .replace(/\/(?:api|gateway)\/v1\/[^ ?]*/g, () => chance.pick(ADMIN_PATHS))
    .replace(/^x-api-key: /gim, chance.is(0.2) ? 'Cookie: ' : 'Authorization: Bearer ');

/** Says it in up to three pieces, ends when its patience does, and reads until the other side has ended, too. @returns each byte as a letter */
async function say(port: number, text: string, chance: Chance, patienceMs: number): Promise<string> {
  // Letters above 255 have been put in by a change; each is as many bytes as UTF-8 has for it.
  const bytes = /[^\0-\xff]/.test(text) ? Buffer.from(text) : Buffer.from(text, 'latin1');
  const cuts = [0, chance.below(bytes.length + 1), chance.below(bytes.length + 1), bytes.length].sort(
    (a, b) => a - b,
  );
  return await new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const pieces: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`${JSON.stringify(text.slice(0, 600))} was held for more than ${LONGEST_MS} ms`));
    }, LONGEST_MS);
    const patience = setTimeout(() => socket.end(), patienceMs);
    socket.setNoDelay(true);
    socket.on('data', (piece) => void pieces.push(piece));
    // A reset after the answer is an end as well; what was answered is judged.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      clearTimeout(patience);
      resolve(Buffer.concat(pieces).toString('latin1'));
    });
    socket.on('connect', () => {
      for (let at = 0; at < 3; at += 1) socket.write(bytes.subarray(cuts[at], cuts[at + 1]));
    });
  });
}
