/** Which accounts the path of a request names: some platforms have addresses such as `advertiser/2/stats`. Pure. */
import { OWNER } from './account-words.js';
import type { NamedAccount } from './asked-accounts.js';

const OWNER_SEGMENT = new RegExp(`^(?:[a-z]+[-_.])?(?:${OWNER}|adv)s?(?:[-_.]?ids?)?$`, 'i');
const OWNER_AND_ID = new RegExp(`^(?:${OWNER}|adv)s?[-_.~](\\w*\\d\\w*)$`, 'i');

/** Whether what stands behind a path is an account: `/api/v1/advertiser/get`. */
export function namesOwner(path: string): boolean {
  return path.split('/').some((segment) => OWNER_SEGMENT.test(segment));
}

/**
 * The accounts that a path names: `2` in `advertiser/2/stats` and in `user-2`. What holds no digit is another word.
 * @returns at most one entry, with every value
 */
export function accountsInPath(path: string): NamedAccount[] {
  const segments = path.split('/');
  const values = segments.flatMap((segment, index) => {
    const inside = OWNER_AND_ID.exec(segment)?.[1];
    if (inside !== undefined) return [inside];
    return OWNER_SEGMENT.test(segments[index - 1] ?? '') && /\d/.test(segment) ? [segment] : [];
  });
  return values.length > 0 ? [{ param: 'the path', values }] : [];
}
