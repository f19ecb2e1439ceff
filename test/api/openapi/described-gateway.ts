/** A gateway on sockets, each of whose answers is held against what its plane says of itself. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { expect, onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/simulator.js';
import type { Simulator } from '../../../src/simulator/simulator-api.js';
import { type Answer, type Ask, ask } from '../../support/ask.js';
import {
  ADMIN_TOKEN,
  type GatewayOptions,
  gatewayAt,
  type TestGateway,
} from '../../support/start-gateway.js';
import { createTestClock } from '../../support/test-clock.js';
import { Description, type Document } from './document.js';

export interface DescribedPlane {
  readonly url: string;
  readonly description: Description;
  /** `operationId status` of each answer so far. */
  readonly seen: ReadonlySet<string>;
  /** Asks; an answer that is not described down to its last member fails the test. */
  call(method: Ask['method'], target: string, options?: Ask): Promise<Answer>;
}

export interface DescribedGateway {
  readonly gateway: TestGateway;
  readonly simulator: Simulator;
  readonly data: DescribedPlane;
  /** Calls come with the admin token. */
  readonly admin: DescribedPlane;
}

/** With a token request, a probe and the test clock's route, at a platform that shows its rate. */
export async function describedGateway(options: GatewayOptions = {}): Promise<DescribedGateway> {
  const clock = createTestClock();
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 6000 } });
  onTestFinished(() => simulator.close());
  const { clientId, ...account } = simulator.account;
  const probe = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01';
  const platform = { probe, ...account, clientId: String(clientId) };
  const config = { testClock: true, platform, ...options.config };
  const gateway = await gatewayAt(simulator, { ...options, clock, config });
  return {
    gateway,
    simulator,
    data: await listen(gateway.data, {}),
    admin: await listen(gateway.admin, { bearer: ADMIN_TOKEN }),
  };
}

async function listen(plane: FastifyInstance, usual: Ask): Promise<DescribedPlane> {
  await plane.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => plane.server.closeAllConnections());
  const url = `http://127.0.0.1:${(plane.server.address() as AddressInfo).port}`;
  const description = new Description((await ask(`${url}/openapi.json`)).json<Document>());
  const seen = new Set<string>();
  async function call(method: Ask['method'], target: string, options: Ask = {}): Promise<Answer> {
    const answer = await ask(url + target, { ...usual, ...options, method: method ?? 'GET' });
    const exchange = { ...answer, method: String(method), target };
    expect(description.faultsOf(exchange)).toEqual([]);
    seen.add(`${description.operationOf(exchange)?.operationId} ${answer.status}`);
    return answer;
  }
  return { url, description, seen, call };
}

/** Operations that no answer with a status below 400 was seen of. */
export function unseen({ description, seen }: DescribedPlane): string[] {
  const ids = description.operations().map(({ operation }) => operation.operationId);
  return ids.filter((id) => ![...seen].some((one) => one.startsWith(`${id} `) && !/ [45]/.test(one)));
}
