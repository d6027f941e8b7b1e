import type { Page } from 'playwright-core'

export interface Shop {
  id: string
  ownerToken: string
  apiKey: string
}
/** What the shops of the screenshots contain. */
export interface Made {
  full: Shop
  empty: Shop
  test: Shop
  staff: string
  nisa: string
  maelle: string
  archived: string
  rejected: string
  batch: string
  euros: string
  orderName: string
  hook: number
}

interface Shot {
  name: string
  path: string
  as?: 'full' | 'empty' | 'test' | 'staff' | 'nobody'
  /** Brings the page into the state. */
  act?: (page: Page) => Promise<unknown>
  /** Only what is visible, for layers and sticky parts. */
  screen?: boolean
  media?: 'print'
}

const link = (selector: string) => (page: Page) => page.locator(selector).first().click()
/** Follows links from page to page. */
const follow =
  (...selectors: string[]) =>
  async (page: Page) => {
    for (const selector of selectors) {
      await page.locator(selector).first().click()
      await page.waitForLoadState()
    }
  }
const redeliverMany = async (page: Page) => {
  await page.getByLabel('Webhook').selectOption({ index: 1 })
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.locator('main a[href*="/redeliver?"]').click()
}
const submit = (fields: Record<string, string>, button: string | RegExp) => async (page: Page) => {
  for (const [label, value] of Object.entries(fields)) {
    const field = page.locator('main').getByLabel(label, { exact: true }).first()
    await field.evaluate((one) => one.removeAttribute('required'))
    await field.fill(value)
  }
  await page.locator('form').evaluateAll((forms) => {
    for (const one of forms) one.setAttribute('novalidate', '')
  })
  await page.locator('main').getByRole('button', { name: button }).first().click()
  await page.waitForLoadState()
}

const openAll = (page: Page) =>
  page.locator('main details').evaluateAll((all) => {
    for (const one of all) one.setAttribute('open', '')
  })

/** Adds a passkey of a device that the browser simulates. */
async function addPasskey(page: Page) {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: true },
  })
  await page.getByLabel('Name').fill('Laptop in the office')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('status').waitFor()
  await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
}

/** Types into the search of the dialog, and waits for results. */
const searchFor = (text: string) => async (page: Page) => {
  await page.keyboard.press('Control+k')
  await page.keyboard.type(text)
  await page.waitForTimeout(700)
}

/** Chooses a file with a content and previews it. */
const chooseFile = (contentOf: (page: Page) => string | Promise<string>) => async (page: Page) => {
  const buffer = Buffer.from(await contentOf(page))
  await page.getByLabel(/^File/).setInputFiles({ name: 'report.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.waitForLoadState()
}

/** The pages and their states. */
export function shotsOf(made: Made): Shot[] {
  const { nisa, maelle, archived, rejected, batch, euros } = made
  const order = encodeURIComponent(made.orderName)
  const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString().slice(0, 10)
  return [
    { name: 'sign-in', path: '/admin/sign-in', as: 'nobody' },
    { name: 'sign-in-link', path: '/admin/sign-in?token=rl_x', as: 'nobody' },
    {
      name: 'sign-in-wrong',
      path: '/admin/sign-in',
      as: 'nobody',
      act: submit({ 'Access token': 'ro_wrong' }, 'Sign in'),
    },
    { name: 'overview', path: '/admin' },
    { name: 'overview-90', path: '/admin?days=90&currency=EUR' },
    {
      name: 'overview-hover',
      path: '/admin',
      screen: true,
      act: async (page) => page.locator('.marks').first().locator('li').nth(20).hover(),
    },
    {
      name: 'overview-focus',
      path: '/admin',
      screen: true,
      act: async (page) => {
        await page.locator('.marks').nth(1).locator('li').last().focus()
        await page.keyboard.press('ArrowLeft')
        await page.keyboard.press('ArrowLeft')
      },
    },
    { name: 'overview-table', path: '/admin', act: async (page) => page.locator('details.numbers summary').click() },
    { name: 'overview-empty', path: '/admin', as: 'empty' },
    { name: 'overview-range', path: '/admin?from=2026-10-01&to=2026-10-20' },
    { name: 'overview-range-invalid', path: '/admin?from=2026-10-20&to=2026-10-01' },
    { name: 'overview-test', path: '/admin', as: 'test' },
    { name: 'overview-staff', path: '/admin', as: 'staff' },
    {
      name: 'menu-open',
      path: '/admin',
      screen: true,
      act: async (page) => {
        const button = page.locator('.top button')
        if (await button.isVisible()) await button.click()
      },
    },
    { name: 'search', path: '/admin/search' },
    { name: 'search-found', path: '/admin/search?q=nisa' },
    { name: 'search-many', path: '/admin/search?q=garc%C3%ADa' },
    { name: 'search-none', path: '/admin/search?q=zzzz' },
    { name: 'search-staff', path: '/admin/search', as: 'staff' },
    { name: 'search-dialog', path: '/admin', screen: true, act: searchFor('') },
    { name: 'search-dialog-found', path: '/admin', screen: true, act: searchFor('pa') },
    { name: 'search-dialog-order', path: '/admin/affiliates', screen: true, act: searchFor('2720') },
    { name: 'search-dialog-none', path: '/admin', screen: true, act: searchFor('zzzz') },
    { name: 'shortcuts', path: '/admin', screen: true, act: (page) => page.keyboard.press('?') },
    { name: 'orders', path: '/admin/orders' },
    { name: 'orders-filtered', path: '/admin/orders?outcome=APPROVED&min=20&from=2026-01-01' },
    { name: 'orders-canceled', path: '/admin/orders?outcome=CANCELED' },
    { name: 'orders-nobody', path: '/admin/orders?outcome=NOBODY' },
    { name: 'orders-filter-invalid', path: '/admin/orders?outcome=APPROVED&min=ten' },
    { name: 'orders-no-match', path: '/admin/orders?outcome=REVERSED&max=1' },
    { name: 'orders-empty', path: '/admin/orders', as: 'empty' },
    { name: 'order', path: `/admin/orders?id=${order}` },
    { name: 'order-nobody', path: '/admin/orders?id=5551000065' },
    { name: 'order-canceled', path: '/admin/orders?id=5551001170' },
    { name: 'order-missing', path: '/admin/orders?id=999' },
    {
      name: 'order-refund-invalid',
      path: `/admin/orders?id=${order}`,
      act: async (page) => {
        for (const details of await page.locator('main details').all())
          await details.evaluate((one) => one.setAttribute('open', ''))
        await submit({ 'Refund ID': 're-x', 'Goods refunded, in USD': 'abc' }, /refund/i)(page)
      },
    },
    { name: 'commissions', path: '/admin/commissions' },
    {
      name: 'commissions-selected',
      path: '/admin/commissions',
      screen: true,
      act: async (page) => {
        for (const n of [0, 1, 2]) await page.locator('input[name=ids]').nth(n).check()
      },
    },
    { name: 'commissions-all-states', path: '/admin/commissions?status=ALL' },
    {
      name: 'commissions-filtered',
      path: `/admin/commissions?status=ALL&min=100&currency=EUR&from=${days(40)}&to=${days(0)}`,
    },
    { name: 'commissions-refunded', path: `/admin/commissions?status=ALL&order=${order}` },
    { name: 'commissions-none', path: '/admin/commissions?status=ALL&affiliate=nobody' },
    { name: 'commissions-empty', path: '/admin/commissions', as: 'empty' },
    { name: 'commissions-staff', path: '/admin/commissions', as: 'staff' },
    { name: 'commissions-bulk', path: '/admin/commissions/all' },
    { name: 'affiliates', path: '/admin/affiliates' },
    { name: 'affiliates-sorted', path: '/admin/affiliates?sort=-commission' },
    { name: 'affiliates-pending', path: '/admin/affiliates?status=PENDING' },
    { name: 'affiliates-filtered', path: '/admin/affiliates?q=a&status=APPROVED' },
    { name: 'affiliates-none', path: '/admin/affiliates?q=zzzz' },
    { name: 'affiliates-empty', path: '/admin/affiliates', as: 'empty' },
    { name: 'affiliates-archived', path: '/admin/affiliates?status=ARCHIVED' },
    { name: 'affiliate', path: `/admin/affiliates/${nisa}` },
    { name: 'affiliate-archived', path: `/admin/affiliates/${archived}` },
    { name: 'affiliate-long-name', path: `/admin/affiliates/${maelle}` },
    {
      name: 'affiliate-code-invalid',
      path: `/admin/affiliates/${nisa}`,
      act: async (page) => {
        await page.getByText('Change the code').click()
        await page.locator('input[name=code]').fill('TOO LONG CODE')
        await page.getByRole('button', { name: 'Assign code' }).click()
      },
    },
    {
      name: 'affiliate-alias-invalid',
      path: `/admin/affiliates/${maelle}`,
      act: async (page) => {
        await openAll(page)
        await page.locator('input[name=alias]').fill('SARAH10')
        await page.getByRole('button', { name: /^Add/ }).first().click()
      },
    },
    {
      name: 'affiliate-link-created',
      path: `/admin/affiliates/${nisa}`,
      act: (page) => page.getByRole('button', { name: 'Create a link' }).click(),
    },
    {
      name: 'affiliate-token-created',
      path: `/admin/affiliates/${nisa}`,
      act: async (page) => {
        await openAll(page)
        await page.getByRole('button', { name: 'Create a token' }).click()
      },
    },
    { name: 'affiliate-all-open', path: `/admin/affiliates/${nisa}`, act: openAll },
    { name: 'affiliate-staff', path: `/admin/affiliates/${nisa}`, as: 'staff' },
    { name: 'affiliate-new', path: '/admin/affiliates/new' },
    {
      name: 'affiliate-new-invalid',
      path: '/admin/affiliates/new',
      act: submit({ Name: 'Jo', Email: 'not an address' }, /Create|Add|Save/),
    },
    {
      name: 'affiliate-invite',
      path: '/admin/affiliates?status=PENDING',
      act: async (page) => {
        await follow('main tbody tr:last-child th a', 'main .head button.main')(page)
      },
    },
    { name: 'affiliate-edit', path: `/admin/affiliates/${nisa}/edit` },
    { name: 'affiliate-archive', path: `/admin/affiliates/${nisa}/archive` },
    { name: 'affiliate-payee', path: `/admin/affiliates/${nisa}/payee` },
    {
      name: 'affiliate-payee-invalid',
      path: `/admin/affiliates/${maelle}/payee?method=SEPA`,
      act: submit({ 'Account holder': 'M', IBAN: 'DE00', Town: 'Berlin', Country: 'DE' }, /Save|Replace/),
    },
    { name: 'programs', path: '/admin/programs' },
    { name: 'programs-empty', path: '/admin/programs', as: 'empty' },
    {
      name: 'program',
      path: '/admin/programs',
      act: (page) => page.getByRole('link', { name: 'Ambassadors' }).click(),
    },
    {
      name: 'program-edit',
      path: '/admin/programs',
      act: async (page) => {
        await page.getByRole('link', { name: 'Ambassadors' }).click()
        await page.locator('main').getByRole('link', { name: /^Edit/ }).first().click()
      },
    },
    { name: 'program-new', path: '/admin/programs/new' },
    {
      name: 'program-new-invalid',
      path: '/admin/programs/new',
      act: submit({ Name: 'New', Rate: '900' }, /Create|Save/),
    },
    {
      name: 'backtest',
      path: '/admin/programs',
      act: async (page) => {
        await page.getByRole('link', { name: 'Ambassadors' }).click()
        await page
          .locator('main')
          .getByRole('link', { name: /change|backtest|what/i })
          .first()
          .click({ timeout: 3000 })
          .catch(() => undefined)
      },
    },
    {
      name: 'backtest-higher',
      path: '/admin/programs',
      act: async (page) => {
        await follow('text="Ambassadors"', 'main a[href$="/backtest"]', '.segments li:nth-child(2) a')(page)
        await page.locator('main details.numbers summary').click()
      },
    },
    { name: 'coupons', path: '/admin/coupons' },
    { name: 'coupon-new', path: '/admin/coupons/new' },
    { name: 'coupons-filtered', path: '/admin/coupons?code=A' },
    { name: 'coupons-empty', path: '/admin/coupons', as: 'empty' },
    { name: 'payouts', path: '/admin/payouts' },
    { name: 'payouts-waiting', path: '/admin/payouts/waiting?currency=USD&why=BLOCKED' },
    { name: 'payouts-waiting-none', path: '/admin/payouts/waiting?currency=EUR&why=HELD_BACK' },
    { name: 'payouts-filtered', path: '/admin/payouts?status=PAID&currency=USD&from=2026-01-01' },
    { name: 'payouts-filter-invalid', path: '/admin/payouts?currency=dollars' },
    { name: 'payouts-empty', path: '/admin/payouts', as: 'empty' },
    { name: 'payout', path: `/admin/payouts/${batch}` },
    { name: 'payout-files', path: `/admin/payouts/${batch}?view=files` },
    { name: 'payout-commissions', path: `/admin/payouts/${batch}?view=commissions` },
    { name: 'payout-euros', path: `/admin/payouts/${euros}` },
    {
      name: 'payout-wrong-total',
      path: `/admin/payouts/${euros}`,
      act: async (page) => {
        await page.getByLabel(/^Type the total/).fill('1.00')
        await page.getByRole('button', { name: 'Mark as paid' }).click()
      },
    },
    { name: 'payout-cancel', path: `/admin/payouts/${euros}/cancel` },
    { name: 'payout-send-csv', path: `/admin/payouts/${batch}/send?format=csv` },
    { name: 'payout-send-sepa', path: `/admin/payouts/${euros}/send?format=sepa` },
    {
      name: 'payout-send-sepa-invalid',
      path: `/admin/payouts/${euros}/send?format=sepa`,
      act: submit({ IBAN: 'DE00' }, /Mark as sent/),
    },
    { name: 'payout-blocked', path: `/admin/payouts/${euros}?state=BLOCKED` },
    { name: 'payout-discard-file', path: '/admin/payout-files/october-wise/discard' },
    { name: 'payout-new', path: '/admin/payouts/new' },
    { name: 'payout-preview', path: `/admin/payouts/new?from=${days(40)}&until=${days(0)}` },
    { name: 'payout-preview-none', path: '/admin/payouts/new?from=2020-01-01&until=2020-01-31' },
    { name: 'reconcile', path: '/admin/payouts/reconcile' },
    {
      name: 'reconcile-typed',
      path: '/admin/payouts/reconcile',
      act: (page) => page.getByText('Type the payments instead').click(),
    },
    { name: 'reconcile-invalid', path: '/admin/payouts/reconcile', act: chooseFile(() => '<Document>') },
    {
      name: 'reconcile-preview',
      path: '/admin/payouts/reconcile',
      act: chooseFile(async (page) => {
        const { origin } = new URL(page.url())
        const csv = await (await page.request.get(`${origin}/admin/payouts/${batch}/lines.csv`)).text()
        const references = [...csv.matchAll(/PLN\w+/g)].map(([reference]) => reference)
        const unknown = `PLN${'0'.repeat(26)}`
        const rows = [unknown, ...references].map((reference, i) => {
          const outcome = i % 4 === 3 ? 'RETURNED' : i % 7 === 6 ? 'PENDING' : 'SETTLED'
          return `${reference},${outcome},${i === 2 ? '1.00' : ''},USD,${outcome === 'RETURNED' ? 'The account is closed.' : ''}`
        })
        return ['paymentReference,outcome,amount,currency,reason', ...rows, 'PLN1,SETTLED,,,'].join('\n')
      }),
    },
    { name: 'journey', path: '/admin/journey' },
    { name: 'journey-order', path: '/admin/journey?order=%232003' },
    { name: 'journey-customer', path: '/admin/journey?customerEmail=ada@example.com' },
    { name: 'webhooks', path: '/admin/webhooks' },
    { name: 'webhooks-empty', path: '/admin/webhooks', as: 'empty' },
    { name: 'webhook', path: '/admin/webhooks', act: link('main a[href*="/whs_"]') },
    {
      name: 'webhook-some',
      path: '/admin/webhooks',
      act: async (page) => page.getByLabel('Only these events').check(),
    },
    {
      name: 'webhook-secret',
      path: '/admin/webhooks',
      act: follow('main a[href*="/whs_"]', 'main a[href$="/secret"]'),
    },
    {
      name: 'webhook-invalid',
      path: '/admin/webhooks',
      act: submit({ URL: 'http://insecure.example' }, 'Add webhook'),
    },
    { name: 'deliveries', path: '/admin/deliveries' },
    { name: 'deliveries-failed', path: '/admin/deliveries?status=FAILED' },
    { name: 'delivery', path: '/admin/deliveries?status=FAILED', act: link('main a[href*="/dlv_"]') },
    { name: 'deliveries-redeliver', path: '/admin/deliveries?status=FAILED', act: redeliverMany },
    { name: 'deliveries-empty', path: '/admin/deliveries', as: 'empty' },
    { name: 'keys', path: '/admin/keys' },
    { name: 'keys-preset', path: '/admin/keys?preset=checkout' },
    {
      name: 'keys-created',
      path: '/admin/keys',
      as: 'test',
      act: async (page) => {
        await page.getByLabel('Label').fill('Made in the test')
        await page.getByLabel('Programs: read').check()
        await page.getByRole('button', { name: 'Create key' }).click()
      },
    },
    { name: 'key-rotate', path: '/admin/keys', act: link('a[href$=rotate]') },
    { name: 'key-revoke', path: '/admin/keys', act: link('a[href$=revoke]') },
    { name: 'settings', path: '/admin/settings' },
    { name: 'team', path: '/admin/team' },
    { name: 'team-token', path: '/admin/team', act: link('a[href$="/token"]') },
    { name: 'test-shops', path: '/admin/test-shops' },
    { name: 'test-shops-empty', path: '/admin/test-shops', as: 'empty' },
    {
      name: 'test-shops-created',
      path: '/admin/test-shops',
      act: submit({ Name: 'Month-end rehearsal' }, 'Create test shop'),
    },
    { name: 'test-shop-delete', path: '/admin/test-shops', act: link('a[href$="/delete"]') },
    {
      name: 'test-shop-clock',
      path: '/admin/test-shops',
      as: 'test',
      act: async (page) => {
        await page.getByLabel('Advance by').selectOption('31 days')
        await page.getByRole('button', { name: /^Advance/ }).click()
      },
    },
    { name: 'test-shop-month', path: '/admin/payouts', as: 'test' },
    { name: 'audit', path: '/admin/audit' },
    { name: 'audit-none', path: '/admin/audit?action=nothing' },
    { name: 'audit-filtered', path: '/admin/audit?action=commission.approved&from=2026-01-01' },
    { name: 'account', path: '/admin/account' },
    { name: 'account-passkey', path: '/admin/account', act: addPasskey },
    { name: 'account-staff', path: '/admin/account', as: 'staff' },
    { name: 'not-found', path: '/admin/nothing' },
    { name: 'forbidden', path: '/admin/payouts', as: 'staff' },
    { name: 'own-page', path: `own:${nisa}`, as: 'nobody' },
    { name: 'own-page-long-name', path: `own:${maelle}`, as: 'nobody' },
    {
      name: 'own-statements',
      path: `own:${nisa}`,
      as: 'nobody',
      act: (page) => page.getByRole('link', { name: 'Statements' }).click(),
    },
    {
      name: 'own-statement',
      path: `own:${nisa}`,
      as: 'nobody',
      act: async (page) => {
        await page.getByRole('link', { name: 'Statements' }).click()
        await page.locator('tbody a').nth(1).click()
      },
    },
    { name: 'own-page-ended', path: `own:${rejected}`, as: 'nobody' },
    { name: 'own-page-expired', path: '/affiliate?token=x', as: 'nobody' },
    { name: 'statement', path: 'statement' },
    { name: 'statement-print', path: 'statement', media: 'print' },
    { name: 'payout-print', path: `/admin/payouts/${batch}`, media: 'print' },
    { name: 'order-print', path: `/admin/orders?id=${order}`, media: 'print' },
  ]
}
