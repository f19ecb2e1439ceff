/**
 * The store must not be used: a wrong setting, a damaged file, a folder that another process holds. A retry does not help;
 * the message says what to change, without secrets.
 */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}

/** Another process has the data folder open. */
export class FolderInUse extends StoreRefused {}

/** The folder named for a backup cannot be used. */
export class BackupTargetRefused extends StoreRefused {
  /** The value, why it cannot be used, and what is allowed. */
  readonly fault: string;
  /** @param why as a relative clause */
  constructor(target: string, why: string) {
    const allowed = 'the absolute path of a new folder, in a folder that is there and can be written to';
    const fault = `was ${JSON.stringify(target)}, ${why}; allowed is ${allowed}`;
    super(`folder: ${fault}`);
    this.fault = fault;
  }
}

/** The part of a pino logger that the store needs. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
