/** A gateway whose campaign report by date is proven divisible by day, so that it has a history. */
import { prove } from '../support/prove.js';
import { type Call, type TestGateway, type withGateway, withTeam } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';

export const HOUR = 60 * MINUTE;
/** Three days that are over. */
export const PERIOD = 'dateFrom=2026-11-17&dateTo=2026-11-19';
export const BY_DATE = `advertiserId=1&byDate=1&${PERIOD}`;

export const aboutReport = (query: string, endpoint = 'campaigns/get') =>
  `endpoint=${endpoint}&query=${encodeURIComponent(query)}`;

export type HistoryScene = Awaited<ReturnType<typeof historyScene>>;

/** @param more of the query of the kind that is proven, beginning with `&` */
export async function historyScene(more = '', options: Parameters<typeof withGateway>[0] = {}) {
  const { gateway, key } = await withTeam(options, {
    id: 'history',
    scopes: ['report:read', 'report:pin', 'report:watch', 'cache:refresh'],
  });
  await prove(gateway, key, { more });
  const ask = async (query: string) => {
    const reply = await gateway.report(key, query);
    await gateway.services.settled();
    return reply;
  };
  return {
    gateway,
    key,
    ask,
    /** Two hours later the platform says something else, and is asked again. */
    async restated(query: string, day = '2026-11-18') {
      gateway.clock.advance(2 * HOUR);
      gateway.simulator.restate({ advertiserId: 1, from: day, to: day });
      await ask(query);
      gateway.clock.advance(2 * HOUR);
      return ask(query);
    },
    /** A call about a report. */
    about: (path: string, query: string, rest = '', asking = key) =>
      gateway.call(`/gateway/v1/${path}?${aboutReport(query)}${rest}`, { key: asking }),
  };
}

/** Days of advertiser 1, by date, of a kind that is proven divisible by day. */
export async function provenScene(options: Parameters<typeof withGateway>[0] = {}) {
  const { gateway, key } = await withTeam(options);
  await prove(gateway, key);
  /** Asks, and waits until what was learned of it is written down. */
  const ask = async (query: string, call: Call = {}, of: TestGateway = gateway) => {
    const reply = await of.report(key, query, call);
    await of.services.settled();
    return reply;
  };
  /** The platform says something else of these days. */
  const restate = (from: string, to = from) => gateway.simulator.restate({ advertiserId: 1, from, to });
  return { gateway, key, ask, restate };
}
