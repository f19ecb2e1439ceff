/**
 * The store can be reached but must not be used as it is: a wrong setting, a damaged file, a folder that another
 * process holds. Trying again does not help; the message says what to change and holds no secret.
 */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
