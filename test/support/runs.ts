/** How often a property is played: few times by `npm test`, all of them where SEEDS is set, as `npm run test:all` does. */
export const runs = (few: number, all: number): { readonly numRuns: number } => ({
  numRuns: process.env.SEEDS === undefined ? few : all,
});
