/**
 * A caller whose token was refused, and replaced, tried again; where another caller had the same question under way, still
 * asked with the old token, he waited for that and was told 503 `credential_unavailable`: it counted as his second token.
 */
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import type { RegistryStore } from '../../src/store/port.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const OLD = 'a-token-that-is-refused-soon';
const ROWS = sends('{"data":[{"impressions":7}]}');
const REFUSAL = sends('{"message":"Unauthenticated."}', {}, 401);

/** What comes to it while it is closed goes on when it is opened. */
function createGate(isClosed: boolean) {
  const held: (() => void)[] = [];
  let isOpen = !isClosed;
  return {
    held,
    close() {
      isOpen = false;
    },
    open() {
      isOpen = true;
      for (const go of held.splice(0)) go();
    },
    pass: () => (isOpen ? Promise.resolve() : new Promise<void>((resolve) => held.push(resolve))),
  };
}

/** A gateway that would go back to its previous token; its platform refuses the active one, the second time not at once. */
async function openScene() {
  const [commits, refusals] = [createGate(false), createGate(true)];
  const usesOld = ({ headers }: IncomingMessage) => headers.authorization === `Bearer ${OLD}`;
  const platform = await startRawPlatform((request, response) => {
    if (!usesOld(request)) return ROWS(request, response);
    if (platform.requests.filter(usesOld).length === 1) return REFUSAL(request, response);
    void refusals.pass().then(() => REFUSAL(request, response));
  });
  const hold =
    (registry: RegistryStore): RegistryStore['commit'] =>
    async (change) => {
      await commits.pass();
      return registry.commit(change);
    };
  const gateway = await gatewayAt(platform, {
    wrapStore: (store) => ({ ...store, registry: { ...store.registry, commit: hold(store.registry) } }),
  });
  const keys = [await gateway.addTeam(), await gateway.addTeam()];
  await gateway.manage('POST', '/token/rotate', { token: OLD, force: true });
  commits.close();
  return { gateway, keys, commits, refusals };
}

it.each([
  ['of the same team', 0],
  ['of another team', 1],
])('a caller %s who asks with the old token meanwhile spoils nobody else', async (_whose, at) => {
  const { gateway, keys, commits, refusals } = await openScene();
  const first = gateway.report(keys[0] as string, QUERY);
  await waitFor('the recovery', () => commits.held.length > 0);
  const second = gateway.report(keys[at] as string, QUERY);
  await waitFor('a call with the old token', () => refusals.held.length > 0);
  commits.open();
  await expect.poll(() => gateway.services.reporting.waiting()).toBe(1);
  refusals.open();
  expect([outcomeOf(await first), outcomeOf(await second)]).toEqual(['200', '200']);
});
