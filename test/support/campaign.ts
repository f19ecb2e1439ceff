/** A campaign that the simulator takes; its budget is 900 in all. */
export const CAMPAIGN = {
  userId: 1,
  name: 'Autumn',
  adDomain: 'shop.example',
  clickUrl: 'https://shop.example/',
  country: 'DE',
  dates: { from: '2027-01-01', to: '2027-02-01' },
  bid: 1.5,
  budget: { daily: 10, total: 900 },
  creativeSetIds: [1],
  currency: 'EUR',
};

/** A rule of a write guard for it; `allowFields` are those of the campaign, or some of them. */
export const RULE = {
  budget: {
    field: 'body.budget.total',
    currencyField: 'body.currency',
    currency: 'EUR',
    maxPerCall: 1000,
    maxPerDay: 5000,
  },
  amounts: [
    { field: 'body.budget.daily', max: 200 },
    { field: 'body.bid', max: 5 },
  ],
  allowFields: ['name', 'userId', 'budget', 'bid', 'currency'],
  requireIdempotencyKey: true,
};
