/** Cells of answers that are others than the platform's at the same instant, by the age of their day. */

const DAY_MS = 86_400_000;
const COLUMNS = ['impressions', 'clicks', 'spent', 'reach'];
const AGES = [
  { title: 'day 1 to 5', least: 1, most: 5 },
  { title: 'day 6 to 28', least: 6, most: 28 },
  { title: 'older', least: 29, most: Number.POSITIVE_INFINITY },
];

export function createWrongCells() {
  const nothing = () => ({ served: 0, wrong: 0 });
  const [all, final] = [nothing(), nothing()];
  const ages = AGES.map((age) => ({ ...age, ...nothing() }));

  function noteCell(sums, isWrong) {
    for (const sum of sums) {
      sum.served += 1;
      if (isWrong) sum.wrong += 1;
    }
  }

  return {
    /** @param answer of a report by date, with `_days` */
    note({ advertiser }, { data, meta }, simulator) {
      const { from, to } = meta.period;
      const query = { advertiserId: advertiser, byDate: true, dateFrom: from, dateTo: to };
      const served = new Map(data.map((row) => [row.date, row]));
      const truth = new Map(simulator.truth(query).map((row) => [row.date, row]));
      for (const { date, final: isFinal } of meta.days) {
        const age = (Date.parse(simulator.today) - Date.parse(date)) / DAY_MS;
        const sums = [all, ...ages.filter(({ least, most }) => age >= least && age <= most)];
        if (isFinal) sums.push(final);
        for (const column of COLUMNS) {
          const [one, other] = [served.get(date)?.[column], truth.get(date)?.[column]];
          if (one !== undefined || other !== undefined) noteCell(sums, Number(one) !== Number(other));
        }
      }
    },
    count: () => ({ all, final, ages }),
  };
}
