/** Whose writes are stopped, as the admin API says it. */

interface WriteStop {
  readonly by: string;
  readonly at: string;
  readonly reason: string;
}

export interface WriteStops {
  readonly all: WriteStop | null;
  readonly teams: readonly (WriteStop & { readonly team: string })[];
}

export interface ShownStop extends WriteStop {
  /** Null: of all teams. */
  readonly team: string | null;
}

/** That of all teams first. */
export function listOf({ all, teams }: WriteStops): readonly ShownStop[] {
  return [...(all === null ? [] : [{ ...all, team: null }]), ...teams];
}
