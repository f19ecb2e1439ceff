import { createLink, type Link, type LinkOptions } from './link.js';
import { createMemoryWatch, type MemoryWatch } from './memory-watch.js';

export interface WatchedLink {
  readonly link: Link;
  readonly memory: MemoryWatch;
}

/** A link to a server, and a watch over the server's memory by way of it; whatever the link is refused, the watch hears. */
export function createWatchedLink(options: Omit<LinkOptions, 'onOutOfMemory'>): WatchedLink {
  const { role, clock, logger } = options;
  const memory = createMemoryWatch({ link: () => link, role, clock, logger });
  const link = createLink({ ...options, onOutOfMemory: memory.refused });
  return { link, memory };
}
