/** A campaign that the simulator takes; its budget is 900 in all. */
export const CAMPAIGN = {
  ...{
    userId: 1,
    name: 'Autumn',
    adDomain: 'shop.example',
    clickUrl: 'https://shop.example/',
    country: 'DE',
  },
  ...{ dates: { from: '2027-01-01', to: '2027-02-01' }, bid: 1.5, budget: { daily: 10, total: 900 } },
  ...{ creativeSetIds: [1], currency: 'EUR' },
};
