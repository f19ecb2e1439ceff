/** What is left for a credential, after the call that asked. */
export interface Allowance {
  readonly granted: boolean;
  readonly remaining: number;
  /** Whole seconds until the next call can be granted. */
  readonly retryAfterS: number;
}

export interface RateLimit {
  /** Charges one call to a credential. */
  take(credential: string, now: number, perMinute: number): Allowance;
}

const MINUTE_MS = 60_000;

/** The framework's fixed window: a minute that begins with the first call after the last one ended. */
export function createRateLimit(): RateLimit {
  const windows = new Map<string, { startedAt: number; used: number }>();
  return {
    take(credential, now, perMinute) {
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
