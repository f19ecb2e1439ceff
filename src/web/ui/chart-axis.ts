/** What stands along a chart: moments, or the age of days. Pure. */
import type UPlot from 'uplot';

interface Along {
  /** Of the column in the table. */
  readonly title: string;
  readonly isTime: boolean;
  readonly shown: (value: number) => string;
  /** @param step from one mark to the next */
  readonly marks: NonNullable<UPlot.Axis['values']>;
}

/** By UTC, as everything else here is; in seconds. */
const TIME: Along = {
  title: 'Time (UTC)',
  isTime: true,
  shown: (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' '),
  marks: (_plot, marks, _axis, _space, step) =>
    marks.map((mark) => {
      const iso = new Date(mark * 1000).toISOString();
      return step >= 86_400 || mark % 86_400 === 0 ? iso.slice(5, 10) : iso.slice(11, 16);
    }),
};

const AGE: Along = {
  title: 'Age of the day',
  isTime: false,
  shown: (days) => `${days} d`,
  marks: (_plot, marks) => marks.map((days) => (Number.isInteger(days) ? `${days} d` : '')),
};

export const ALONG = { time: TIME, age: AGE } as const;

/** Of what is counted by the day there is nothing at noon. */
export const DAYS = { incrs: [1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * 86_400) };

export function isByDay(times: readonly number[], along: keyof typeof ALONG): boolean {
  return along === 'time' && times.length > 1 && times.every((time) => time % 86_400 === 0);
}

/** Nobody makes half a call: steps of whole numbers. */
export const WHOLE = {
  incrs: Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat(),
};
