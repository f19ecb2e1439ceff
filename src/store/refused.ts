/**
 * The store can be reached but must not be used as it is: a wrong setting, a damaged file, a folder that another
 * process holds. Trying again does not help; the message says what to change and holds no secret.
 */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}

/** Another process has the data folder open. */
export class FolderInUse extends StoreRefused {}

/** A copy of the store cannot be put into the folder that was named. */
export class BackupTargetRefused extends StoreRefused {
  /** What was named, why it cannot be used, and what is allowed. */
  readonly fault: string;
  /** @param why as a relative clause */
  constructor(target: string, why: string) {
    const allowed = 'the absolute path of a new folder, in a folder that is there and can be written to';
    const fault = `was ${JSON.stringify(target)}, ${why}; allowed is ${allowed}`;
    super(`folder: ${fault}`);
    this.fault = fault;
  }
}

/** What the adapters need of a logger. A pino logger is one. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
