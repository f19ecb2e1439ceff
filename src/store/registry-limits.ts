/** Limits of the registry. */
export interface RegistryLimits {
  /** Most audit lines; the oldest are deleted. */
  readonly auditMax: number;
  /** Most deletions remembered for `changes()`. A reader that misses a forgotten one must `load()`. */
  readonly tombstonesMax: number;
}

export function limitsOf({
  auditMax = 100_000,
  tombstonesMax = 10_000,
}: Partial<RegistryLimits>): RegistryLimits {
  return { auditMax, tombstonesMax };
}
