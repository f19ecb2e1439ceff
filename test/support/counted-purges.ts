import { createPurges, type Purges } from '../../src/reports/cache/purges.js';
import type { Registry } from '../../src/store/registry/replica.js';

/** Purges of a registry whose numbers are counted from 0, so that entries can be written down with theirs. */
export function countedPurges(registry: Registry): Purges {
  const purges = createPurges(registry);
  const first = purges.seq;
  return {
    get seq() {
      return purges.seq - first;
    },
    isPurged: (subject) => purges.isPurged({ ...subject, seq: first + subject.seq }),
    expiredAt: (subject) => purges.expiredAt({ ...subject, seq: first + subject.seq }),
    append: purges.append,
  };
}
