import type { components } from '../../contract/schema.d.ts'
import * as testShops from '../../domains/shops/test-shops.ts'
import { empty } from '../kit/components.ts'
import { confirmation, field, form, input, limitsOf, select } from '../kit/form.ts'
import { counted, day, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View, validateBody } from '../kit/route.ts'
import { nameOf } from '../kit/status.ts'
import { ACTIONS, type Cell, type Column, nameColumn, pager, slice, table } from '../kit/table.ts'

type TestShop = components['schemas']['TestShop']

const PATH = '/admin/test-shops'
const COLUMNS: Column[] = [nameColumn('Test shop'), 'Plan', 'Clock', 'Created', ACTIONS]

export const testShopRoutes: Route[] = [
  { path: '/test-shops', ...rolesAndAuditOf('listTestShops'), show: list },
  { path: '/test-shops', ...rolesAndAuditOf('createTestShop'), act: create, page: list },
  { path: '/test-shops/:id/clock', ...rolesAndAuditOf('advanceTestClock'), act: advance, page: list },
  { path: '/test-shops/:id/delete', roles: OWNER_ONLY, audit: 'test_shops.listed', show: confirmDelete },
  { path: '/test-shops/:id/delete', ...rolesAndAuditOf('deleteTestShop'), act: remove, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { ctx } = request
  if (ctx.shop.isTest === 1) return ownClock(request)
  const { data, pagination } = slice((await testShops.list(ctx)).data, request.query)
  const rows = data.map((testShop) => row(request, testShop))
  const none = 'A test shop has its own data, keys, and clock, so you can try out a month in a minute. No money moves.'
  return {
    title: 'Test shops',
    lead: 'Isolated shops with their own data and an adjustable clock. Orders in them are not real.',
    body: html`${rows.length ? table('Test shops', COLUMNS, rows) : empty('No test shops yet', none, 'test')}
${pager(PATH, request.query, pagination)}
<section class="card narrow" aria-labelledby="add"><h2 id="add">Create a test shop</h2>
${form(
  request,
  PATH,
  html`${input(request, { name: 'name', label: 'Name', placeholder: `${ctx.shop.name} (test)`, ...limitsOf('createTestShop', 'name'), hint: `At most ${counted(testShops.MAX_TEST_SHOPS, 'test shop')}. They have this shop’s plan, currency, and time zone.` })}
<button class="main">Create test shop</button>`,
)}</section>`,
  }
}

/** Inside a test shop, the page has only the clock: a test shop cannot have test shops. */
const ownClock = (request: PageRequest): View => ({
  title: 'Test clock',
  lead: 'This is a test shop. Click windows, periods, retries, and retention follow its clock, which only advances.',
  body: html`<section class="card narrow">${clockForm(request, request.ctx.shop)}</section>`,
})

const STEPS = [
  ['3600', 'an hour'],
  ['86400', 'a day'],
  ['604800', 'a week'],
  ['2678400', '31 days'],
] as const

const clockForm = (request: PageRequest, { id, name }: Pick<TestShop, 'id' | 'name'>): Html =>
  form(
    request,
    `${PATH}/${id}/clock`,
    html`${select('advanceSeconds', 'Advance by', STEPS, STEPS[1][0], { id: `advance-${id}` })}
<button class="small">Advance<span class="visually-hidden"> the clock of ${name}</span></button>`,
    'row',
  )

const row = (request: PageRequest, testShop: TestShop): Cell[] => [
  html`${isolated(testShop.name)}<small><code>${testShop.id}</code></small>`,
  nameOf(testShop.plan),
  time(testShop.now, '–', request.zone),
  day(testShop.createdAt, request.zone),
  html`${clockForm(request, testShop)}<a class="button small danger" href="${PATH}/${testShop.id}/delete">Delete<span class="visually-hidden"> ${testShop.name}</span></a>`,
]

async function create({ ctx, form }: PageRequest) {
  const body = validateBody('createTestShop', { name: field(form, 'name') ?? null })
  const { name, ownerToken, apiKey } = await testShops.create(ctx, body)
  const secret = {
    name: 'Owner’s access token',
    value: ownerToken,
    also: { name: 'API key with every scope', value: apiKey },
  }
  const text = `${name} created. Sign in with its access token in another browser. Copy both now; they are shown only once.`
  return { to: PATH, flash: { text, secret } }
}

async function advance({ ctx, params, form }: PageRequest) {
  const body = validateBody('advanceTestClock', { advanceSeconds: Number(form.get('advanceSeconds') ?? 0) })
  const { name, now } = await testShops.advance(ctx, params.id ?? '', body)
  return { to: PATH, flash: { text: `Clock of ${name} advanced to ${now.slice(0, 16).replace('T', ' ')} UTC.` } }
}

async function confirmDelete(request: PageRequest): Promise<View> {
  const id = request.params.id ?? ''
  const testShop = testShops.requireListed((await testShops.list(request.ctx)).data, id)
  const text = html`<p>${isolated(testShop.name)} and everything in it will be deleted. Its keys and tokens stop working immediately.</p>`
  const view = { title: 'Delete this test shop?', crumb: { to: PATH, text: 'Test shops' }, subjectId: id }
  return confirmation(request, { ...view, text, action: `${PATH}/${id}/delete`, button: 'Delete test shop' })
}

async function remove({ ctx, params }: PageRequest) {
  await testShops.remove(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'Test shop deleted.' } }
}
