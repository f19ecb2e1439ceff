/** Where the platform's token comes from. Who calls the platform never keeps it. */
export interface ActiveToken {
  readonly id: string;
  readonly token: string;
}

export interface TokenSource {
  /** @throws GatewayError `credential_unavailable` when there is none, and none could be had */
  current(): ActiveToken | Promise<ActiveToken>;
  /**
   * Told that the platform refused this token.
   * @returns whether another token is active now, so that a read may be tried again
   */
  refused(id: string): Promise<boolean>;
  /** Told that the platform answered to this token. */
  accepted(id: string): void;
}
