const MINUTE_MS = 60_000;

export type RateLimit = ReturnType<typeof createRateLimit>;

/** The framework's fixed window: a minute that starts with the first call after the previous window. */
export function createRateLimit() {
  const windows = new Map<string, { startedAt: number; used: number }>();
  return {
    /** Charges one call to a credential. */
    take(credential: string, now: number, perMinute: number) {
      let window = windows.get(credential);
      if (!window || now >= window.startedAt + MINUTE_MS || now < window.startedAt) {
        window = { startedAt: now, used: 0 };
        windows.set(credential, window);
      }
      const granted = window.used < perMinute;
      if (granted) window.used++;
      return {
        granted,
        remaining: Math.max(0, perMinute - window.used),
        retryAfterS: Math.ceil((window.startedAt + MINUTE_MS - now) / 1000),
      };
    },
  };
}
