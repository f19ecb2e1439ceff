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
