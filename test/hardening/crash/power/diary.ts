/** What had been acknowledged at each moment of a recording. */
import { type Diary, newDiary } from '../works.js';

export interface Moment {
  /** By the machine's clock, milliseconds since the Unix epoch, rounded up. */
  readonly ms: number;
  readonly diary: Diary;
}

export interface KeptDiary {
  readonly diary: Diary;
  readonly moments: readonly Moment[];
}

/** @returns a diary that is copied whenever another step of the works was acknowledged */
export function keptDiary(): KeptDiary {
  const moments: Moment[] = [];
  const { steps: _, ...pages } = newDiary();
  let steps = 0;
  const diary: Diary = {
    ...pages,
    get steps() {
      return steps;
    },
    set steps(count) {
      steps = count;
      moments.push({ ms: Date.now() + 1, diary: structuredClone({ ...pages, steps }) });
    },
  };
  return { diary, moments };
}
