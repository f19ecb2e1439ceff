/** Hits are answered before the router: a cookie must get there what it gets by the router. */
import { expect, it } from 'vitest';
import { listenGateway } from '../../support/listen-gateway.js';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import { REPORT, withGateway } from '../../support/start-gateway.js';
import { ask, HOST, signIn } from './signed-in.js';

const SESSION = '/gateway/v1/session';
const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';

/** Two teams, of which one may see the report; and the report at hand. */
async function open() {
  const gateway = await withGateway({ logLevel: 'info' });
  const key = await gateway.addTeam({ id: 'may' });
  const other = await gateway.addTeam({ id: 'may-not', advertisers: [2] });
  for (let times = 0; times < 2; times += 1) await gateway.report(key, QUERY);
  await gateway.services.settled();
  const [mine, theirs] = [
    await signIn(gateway.data, SESSION, { key }),
    await signIn(gateway.data, SESSION, { key: other }),
  ];
  const url = await listenGateway(gateway);
  /** Status, code, team and cache-control of a report asked for over a socket of its own. */
  const get = async (...headers: string[]) => {
    const target = `GET ${REPORT}?${QUERY} HTTP/1.1`;
    const text = await exchange(url, head(target, [`host: ${HOST}`, 'connection: close', ...headers]));
    const [answer] = readAnswers(text);
    const line = gateway.log.findLast(({ msg, path }) => msg === 'request' && path === REPORT);
    return {
      status: answer?.status,
      code: /"code":"(\w+)"/.exec(answer?.body ?? '')?.[1] ?? null,
      team: line?.team,
      isKept: !/^cache-control: private, no-store\r?$/im.test(answer?.head ?? ''),
    };
  };
  return { gateway, key, other, mine, theirs, get };
}

it('a cookie opens what its team may see, and nothing else', async () => {
  const { gateway, mine, theirs, get } = await open();
  const answered = { status: 200, code: null, team: 'may', isKept: false };
  expect(await get(`cookie: ${mine.cookie}`)).toEqual(answered);
  expect(await get(`cookie: ${theirs.cookie}`)).toMatchObject({
    status: 403,
    code: 'advertiser_forbidden',
  });
  expect(await get(`cookie: dgw_explorer=${'x'.repeat(43)}`)).toMatchObject({ code: 'invalid_session' });
  expect(await get('host: other.test', `cookie: ${mine.cookie}`)).toMatchObject({ status: 400 });
  const out = await ask(gateway.data, SESSION, { method: 'DELETE', headers: mine.changes });
  expect(out.status).toBe(204);
  expect(await get(`cookie: ${mine.cookie}`)).toMatchObject({ status: 401, code: 'invalid_session' });
  expect(gateway.simulator.callCount).toBe(1);
});

it('a key beside a cookie is what counts', async () => {
  const { key, other, mine, theirs, get } = await open();
  const byKey = { status: 200, code: null, team: 'may', isKept: true };
  expect(await get(`x-api-key: ${key}`, `cookie: ${theirs.cookie}`)).toEqual(byKey);
  expect(await get(`authorization: Bearer ${key}`, `cookie: ${mine.cookie}`)).toEqual(byKey);
  expect(await get(`x-api-key: ${other}`, `cookie: ${mine.cookie}`)).toMatchObject({ status: 403 });
  expect(await get('x-api-key: nonsense', `cookie: ${mine.cookie}`)).toMatchObject({
    code: 'invalid_api_key',
  });
});
