/** A platform of a test's own making, a gateway before it, and a team that may do everything. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Handler, openRawPlatform, type RawPlatform, startRawPlatform } from './raw-platform.js';
import {
  type Call,
  type GatewayOptions,
  type Reply,
  type SimulatedGateway,
  startGateway,
  startGatewayAt,
  type TestGateway,
} from './start-gateway.js';

export interface Scene {
  readonly platform: RawPlatform;
  readonly gateway: TestGateway;
  readonly key: string;
  /** Asks for the campaign report, and waits for the work behind the answer. */
  ask(query: string, call?: Call): Promise<Reply>;
  /** The same. @returns how many calls of the platform it took beside */
  count(query: string, call?: Call): Promise<{ readonly reply: Reply; readonly calls: number }>;
}

/** Ended with the test. @param answer what the platform says, or a platform that is there */
export async function openScene(answer: Handler | RawPlatform, options: GatewayOptions = {}): Promise<Scene> {
  const platform = typeof answer === 'function' ? await startRawPlatform(answer) : answer;
  const scene = await sceneAt(platform, options);
  onTestFinished(() => scene.gateway.close());
  return scene;
}

/** One for all tests of the `describe` or file that it is called in. */
export function sharedScene(answer: Handler, options: GatewayOptions = {}): () => Scene {
  let scene: Scene;
  let end: () => Promise<void>;
  beforeAll(async () => {
    const { close, ...platform } = await openRawPlatform(answer);
    end = close;
    scene = await sceneAt(platform, options);
  });
  afterAll(async () => {
    await scene.gateway.close();
    await end();
  });
  return () => scene;
}

/** On the simulator, the same. */
export function sharedGateway(options: Parameters<typeof startGateway>[0] = {}): () => SimulatedGateway {
  let gateway: SimulatedGateway;
  beforeAll(async () => {
    gateway = await startGateway(options);
  });
  afterAll(() => gateway.close());
  return () => gateway;
}

async function sceneAt(platform: RawPlatform, options: GatewayOptions): Promise<Scene> {
  const gateway = await startGatewayAt(platform, options);
  const key = await gateway.addTeam();
  async function ask(query: string, call?: Call) {
    const reply = await gateway.report(key, query, call);
    await gateway.services.settled();
    return reply;
  }
  return {
    platform,
    gateway,
    key,
    ask,
    async count(query, call) {
      const before = platform.requests.length;
      const reply = await ask(query, call);
      return { reply, calls: platform.requests.length - before };
    },
  };
}

/** Settings of the campaign report. */
export const rule = (settings: object) => ({ report: { endpoints: { 'campaigns/get': settings } } });
