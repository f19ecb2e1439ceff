/** The schemas of answers describe; they never decide what is sent. */
import { fastify } from 'fastify';
import Type from 'typebox';
import { expect, it } from 'vitest';
import { json, shownAs } from '../../../src/api/openapi/operation.js';
import { TEAM_PREFIX } from '../../../src/teams/auth/directory.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, withGateway } from '../../support/start-gateway.js';

it('leave members that they do not name in the answer', async () => {
  const app = fastify();
  const Thing = Type.Object({ known: Type.Integer() }, { additionalProperties: false });
  app.get('/thing', shownAs('things', 'A thing', { id: 'getThing', answers: { 200: json(Thing) } }), () =>
    Promise.resolve({ known: 1, unknown: { deep: [true] } }),
  );
  expect((await app.inject('/thing')).json()).toEqual({ known: 1, unknown: { deep: [true] } });
});

it('leave what a newer release has written of a team', async () => {
  const gateway = await withGateway();
  await gateway.manage('POST', '/teams', { id: 'a' });
  const { registry } = gateway.services;
  const id = `${TEAM_PREFIX}a`;
  const team = { ...JSON.parse(registry.get(id)?.value ?? ''), colour: 'blue' };
  await registry.commit({ writes: new Map([[id, JSON.stringify(team)]]), audit: [] });
  expect(await gateway.manage('GET', '/teams/a')).toMatchObject({ id: 'a', colour: 'blue' });
});

it('leave members of rows and of their objects that nobody described', async () => {
  const row = '{"impressions":1,"novel":{"deep":[1,{"x":null}]}}';
  const platform = await startRawPlatform(sends(`{"data":[${row}],"status":"ok"}`));
  const gateway = await gatewayAt(platform);
  const query = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-01';
  const reply = await gateway.report(await gateway.addTeam(), query);
  expect(reply.json().data).toEqual([JSON.parse(row)]);
});
