/** The one connection pool to the platform; the pass-through and the report calls share it. */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { ProxySettings } from '../config/load.js';

export interface AgentOptions {
  readonly proxy: ProxySettings;
  /** Sockets to the platform; the budget holds calls below it, writes that stream come on top. */
  readonly connections: number;
}

/** @returns an undici dispatcher; `HTTPS_PROXY` and `NO_PROXY` are honoured, redirects never followed. */
export function createAgent({ proxy, connections }: AgentOptions): Dispatcher {
  const options: Agent.Options = {
    connections,
    pipelining: 1,
    connect: { timeout: 10_000 },
    keepAliveTimeout: 30_000,
    maxHeaderSize: 65_536,
    // Deadlines are set for each call, from connect to the last byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const proxied = proxy.httpProxy !== undefined || proxy.httpsProxy !== undefined;
  if (!proxied) return new Agent(options);
  // Empty, for what is absent undici would read from the environment by itself.
  return new EnvHttpProxyAgent({ ...options, httpProxy: '', httpsProxy: '', noProxy: '', ...proxy });
}
