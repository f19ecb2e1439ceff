/** Two replicas on one Redis, behind a balancer that knows no sessions. */
import { expect, it, onTestFinished } from 'vitest';
import { openOnRedis } from '../../support/on-redis.js';
import { startRedis } from '../../support/redis.js';
import { Browser, codeOf, withSignIn } from '../../support/signed-in.js';

it('a sign-in that began at one replica ends at the other, once, and is known to both', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const masterKey = Buffer.alloc(32, 9).toString('base64');
  const one = await withSignIn({ sharedStore: await openOnRedis(redis, 'dgw'), masterKey });
  const { provider, clock } = one;
  const other = await withSignIn({
    sharedStore: await openOnRedis(redis, 'dgw'),
    masterKey,
    provider,
    clock,
  });
  await one.gateway.addTeam({ id: 'data' });
  await other.gateway.services.registry.refresh();
  const browser = new Browser(one.gateway.data, 'data');
  const back = await browser.begin(provider);
  const copy = new Browser(one.gateway.data, 'data');
  for (const [name, cookie] of browser.jar) copy.jar.set(name, cookie);
  browser.plane = other.gateway.data;
  const answers = await Promise.all([browser.finish(back), copy.finish(back)]);
  expect(answers.map(codeOf).sort()).toEqual(['200', '400 sign_in_failed']);
  const winner = codeOf(answers[0] as never) === '200' ? browser : copy;
  for (const { gateway } of [one, other]) {
    await gateway.services.registry.refresh();
    winner.plane = gateway.data;
    expect((await winner.session()).json()).toMatchObject({ team: { id: 'data' } });
  }
});
