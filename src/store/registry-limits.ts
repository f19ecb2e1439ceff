/** What keeps the registry small, whichever adapter holds it. */
export interface RegistryLimits {
  /** Audit lines kept; the oldest go first. */
  readonly auditMax: number;
  /**
   * Deletions remembered, so that `changes()` can tell of them. When one is forgotten, a reader who has not seen it
   * yet is sent to `load()`.
   */
  readonly tombstonesMax: number;
}

/** With what is kept unless it is said otherwise. */
export function limitsOf({
  auditMax = 100_000,
  tombstonesMax = 10_000,
}: Partial<RegistryLimits>): RegistryLimits {
  return { auditMax, tombstonesMax };
}
