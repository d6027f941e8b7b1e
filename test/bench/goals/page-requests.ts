import { LARGE } from '../../attack/large-shop.ts'
import { ID } from '../../support/owner.ts'
import type { LargeShop } from '../harness/fill-large-shop.ts'

/** A request whose time is measured. */
export interface Timed {
  name: string
  path: string
  /** 200 otherwise. */
  status?: number
  /** A file that is sent while it is read: its time is that of its first byte. */
  isDownload?: boolean
}

interface Size {
  commissions: number
  affiliates: number
}

const PAGE = 25
const API_PAGE = 100
const ALL_TIME = 'from=2000-01-01&to=2099-12-31'

/** Every page with and without its filters, its first page and a deep one, and every read of the owner API. */
export function requestsOf({ ownPage }: LargeShop, size: Size): Timed[] {
  const page = (path: string, ...queries: string[]) =>
    queries.map((query) => timed(`/admin${path}${query && `?${query}`}`))
  const api = (path: string, ...queries: string[]) => queries.map((query) => timed(`${path}${query && `?${query}`}`))
  const deep = (rows: number) => `page=${Math.max(1, Math.floor(rows / PAGE) - 1)}`
  const deepApi = (rows: number) => `limit=100&page=${Math.max(1, Math.floor(rows / API_PAGE) - 1)}`
  const { commissions, affiliates } = size
  const { affiliate, batch } = LARGE
  return [
    ...page('', '', 'days=7', 'days=90', 'from=2026-10-01&to=2026-10-20', 'from=2025-11-01&to=2026-10-20'),
    ...page(
      '/commissions',
      '',
      'status=ALL',
      `status=ALL&${deep(commissions)}`,
      `status=PAID&${deep(commissions / 2)}`,
    ),
    ...page('/commissions', `status=REJECTED&affiliate=${affiliate}`, `status=ALL&affiliate=${affiliate}`),
    ...page('/commissions', `status=ALL&affiliate=${affiliate}&${deep(commissions / 2)}`),
    ...page('/commissions', 'status=ALL&affiliate=person', 'status=ALL&affiliate=nobody'),
    ...page('/commissions', `status=PENDING&programId=${ID.program}`, `status=ALL&programId=${ID.program}&page=20000`),
    ...page('/commissions', `status=ALL&${ALL_TIME}`, `status=PAID&${ALL_TIME}&${deep(commissions / 2)}`),
    ...page('/commissions', 'status=ALL&from=2026-10-20&to=2026-10-20', 'status=PAID&from=2026-10-10&to=2026-10-20'),
    ...page('/commissions', `status=ALL&affiliate=${affiliate}&from=2026-01-01&to=2026-10-20`),
    ...page('/commissions', `status=PAID&affiliate=${affiliate}&programId=${ID.program}&${ALL_TIME}`),
    ...page(
      '/commissions',
      'status=PENDING&min=1',
      'status=ALL&min=1',
      'status=ALL&min=100000',
      'status=PAID&min=100000',
    ),
    ...page('/commissions', 'status=ALL&currency=EUR', `status=ALL&affiliate=${affiliate}&min=100000`),
    ...page('/commissions', `status=PAID&affiliate=${affiliate}&programId=${ID.program}&min=100000`),
    ...page('/commissions', `status=ALL&programId=${ID.program}&min=100000&from=2026-01-01&to=2026-10-20`),
    ...page('/commissions', 'status=ALL&order=%231001', 'status=ALL&order=large', 'status=ALL&order=x500000'),
    ...page(
      '/commissions/all',
      '',
      'min=1',
      'min=100000',
      `affiliate=${affiliate}`,
      `programId=${ID.program}&${ALL_TIME}`,
    ),
    ...page(
      '/search',
      '',
      'q=large',
      'q=%231001',
      'q=x500000',
      'q=October',
      'q=orders',
      'q=person',
      'q=person99999',
      'q=e',
    ),
    ...page('/search', 'q=nobody-at-all', `q=${affiliate}`, `q=${batch}`, 'q=PLN01M83TQE0AG86N38TW670RRVGZ'),
    ...page('/orders', '', 'id=large', 'id=x500000', 'id=%23u5000', 'after=api:x500000', ALL_TIME),
    ...page('/orders', 'outcome=PENDING', 'outcome=PAID&after=api:x500000', 'outcome=NOBODY', 'outcome=REVERSED'),
    ...page('/orders', `affiliate=${affiliate}`, `affiliate=${affiliate}&outcome=REVERSED`, 'affiliate=nobody'),
    ...page('/orders', 'min=1', 'min=100000', 'currency=EUR', `outcome=NOBODY&min=100000&${ALL_TIME}`),
    ...page('/orders', 'outcome=PAID&min=100000', `affiliate=${affiliate}&max=1&from=2026-01-01&to=2026-10-20`),
    { ...timed('/admin/orders?id=nothing'), status: 404 },
    ...page('/affiliates', '', deep(affiliates), 'status=PENDING', `status=APPROVED&${deep(affiliates * 0.9)}`),
    ...page('/affiliates', 'q=person', 'q=nobody', 'q=person99999', 'q=pe', `q=person&${deep(affiliates)}`),
    ...page('/affiliates', `campaignId=${ID.program}`, `q=person&status=APPROVED&campaignId=${ID.program}`),
    ...page(
      '/affiliates',
      'sort=-commission',
      'sort=-clicks',
      `sort=-revenue&${deep(affiliates)}`,
      'sort=name',
      'sort=joined',
    ),
    ...page('/affiliates', 'sort=-orders&status=PENDING', `sort=commission&q=person&campaignId=${ID.program}`),
    ...page('/affiliates', 'status=ARCHIVED', `status=ARCHIVED&q=person&sort=-revenue&campaignId=${ID.program}`),
    ...page('/affiliates', 'size=100', `size=100&${deep(affiliates / 4)}`, 'size=100&sort=-commission'),
    ...page('/commissions', 'status=ALL&size=100', 'status=PENDING&size=100', 'status=ALL&min=1&size=100'),
    ...page('/orders', 'size=100', 'outcome=PAID&min=1&size=100'),
    ...page('/coupons', 'size=100'),
    ...page('/deliveries', 'size=100'),
    ...page('/affiliates/new', ''),
    ...page(`/affiliates/${affiliate}`, '', `customers=${Math.floor(commissions / 10 / PAGE)}`),
    ...page('/customers', '', deep(commissions / 10), `affiliate=${affiliate}`, 'customerId=nobody'),
    ...page('/customers/cus_x1', ''),
    ...page('/customers/cus_x1/unbind', ''),
    ...page('/affiliates/aff_x2', '', 'days=90&currency=EUR'),
    ...page(`/affiliates/${affiliate}`, 'days=90'),
    ...page(`/affiliates/${affiliate}/edit`, ''),
    ...page(`/affiliates/${affiliate}/archive`, ''),
    ...page(`/affiliates/${affiliate}/payee`, '', 'method=SEPA'),
    ...page(`/affiliates/${affiliate}/payee/delete`, ''),
    timed(ownPage, 'the page of an affiliate'),
    timed(`${ownPage}&page=10000`, 'the page of an affiliate, page 10,000'),
    timed(ownPage.replace('?', '/statements?'), 'the statements of an affiliate'),
    timed(ownPage.replace('?', '/statements/2026-10?'), 'a statement of an affiliate'),
    ...page('/programs', '', 'page=80', 'status=PUBLISH'),
    ...page('/programs/new', ''),
    ...page(`/programs/${ID.program}`, '', 'rules=300'),
    ...page('/programs/prg_x2', ''),
    ...page(`/programs/${ID.program}/edit`, ''),
    ...page(`/programs/${ID.program}/terms`, ''),
    ...page(`/programs/${ID.program}/backtest`, '', 'from=2026-10-01&to=2026-10-31&commissionPercent=20'),
    ...page('/coupons/new', ''),
    ...page('/coupons', '', deep(affiliates), 'code=x999', 'code=nobody', 'status=APPROVED'),
    ...page(
      '/payouts',
      '',
      'page=200',
      'status=OPEN',
      `status=PAID&${ALL_TIME}`,
      'currency=EUR',
      'currency=USD&page=200',
    ),
    ...page(
      '/payouts/new',
      '',
      'from=2026-10-01&until=2026-10-31',
      'from=2026-10-01&until=2026-10-31&includeEarlier=1',
    ),
    ...page('/payouts/new', 'from=2001-01-01&until=2001-12-31', 'from=2026-10-01&until=2026-10-31&currency=EUR'),
    ...page('/payouts/waiting', '', 'currency=USD&why=BLOCKED', 'currency=USD&why=PAYABLE&page=100', 'why=DEBT'),
    ...page('/payouts/reconcile', ''),
    ...page(
      `/payouts/${batch}`,
      '',
      'view=files',
      'view=commissions',
      'view=commissions&page=10000',
      'lines=1000',
      'state=BLOCKED',
    ),
    ...page('/payouts/bat_open', '', 'view=commissions&page=2000', 'state=READY'),
    ...page(`/payouts/${ID.batch}`, ''),
    ...page('/payouts/bat_open/cancel', ''),
    ...page('/payouts/bat_open/send', 'format=paypal', 'format=csv'),
    { ...timed('/admin/payouts/bat_open/lines.csv'), isDownload: true },
    ...page(`/payout-files/${ID.file}/download`, 'part=1'),
    ...page(`/payout-files/${ID.file}/discard`, ''),
    ...page(
      '/journey',
      '',
      'order=%231001',
      'affiliate=Nobody',
      `affiliateId=${affiliate}`,
      `sessionId=${LARGE.session}`,
      `customerEmail=${LARGE.email}`,
    ),
    ...page('/keys', ''),
    ...page(`/keys/${ID.key}/rotate`, ''),
    ...page(`/keys/${ID.key}/revoke`, ''),
    ...page('/webhooks', ''),
    ...page(`/webhooks/${ID.webhook}`, ''),
    ...page(`/webhooks/${ID.webhook}/delete`, ''),
    ...page('/deliveries', '', deep(commissions), 'status=FAILED', 'status=PENDING', 'event=commission.created'),
    ...page('/deliveries', 'event=payout.paid', `subscriptionId=${ID.webhook}&status=FAILED&event=commission.created`),
    ...page('/deliveries/redeliver', `subscriptionId=${ID.webhook}&status=FAILED&from=2020-01-01`),
    ...page('/deliveries/dlv_0x1', ''),
    ...page(`/webhooks/${ID.webhook}/secret`, ''),
    ...page('/settings', ''),
    ...page('/team', ''),
    { ...timed('/admin/team/usr_unknown/revoke'), status: 404 },
    { ...timed('/admin/team/usr_unknown/token'), status: 404 },
    ...page('/test-shops', ''),
    ...page(`/test-shops/${ID.testShop}/delete`, ''),
    ...page('/account', ''),
    ...page('/audit', '', 'after=500000', 'view=all', `view=all&${deep(commissions)}`),
    ...page('/audit', 'action=commission.approved', 'action=none', 'actor=operator', ALL_TIME),
    ...page('/audit', `action=none&actor=operator&${ALL_TIME}`, `view=all&${ALL_TIME}&${deep(commissions)}`),
    ...api('/api/v1/payouts/unpaid', 'periodStart=2000-01-01&periodEnd=2099-01-01&includeEarlier=1'),
    ...api(`/admin/v1/affiliates/${affiliate}/payee`, ''),
    ...api('/admin/v1/audit', '', deepApi(commissions), 'action=none', 'actor=operator'),
    ...api('/admin/v1/deliveries', '', deepApi(commissions), 'status=FAILED', 'event=none'),
    ...api('/admin/v1/connections', '', deepApi(commissions / 10), `affiliateId=${affiliate}`),
    ...api('/admin/v1/product-rules', '', deepApi(9000), `programId=${ID.program}`),
    ...api('/admin/v1/geo-rules', ''),
    ...api('/admin/v1/keys', ''),
    ...api('/admin/v1/settings', ''),
    ...api('/admin/v1/orders/large/explanation', ''),
    ...api('/admin/v1/payouts/bat_open/lines', ''),
    ...api('/api/v1/webhooks', ''),
    ...api('/api/v1/affiliates/balance', `affiliateId=${affiliate}`),
    ...api('/api/v1/commissions', deepApi(commissions), `affiliateId=${affiliate}&${deepApi(commissions / 2)}`),
    ...api('/api/v1/commissions', `payoutBatchId=${batch}`, `payoutBatchId=${batch}&status=PENDING`),
    ...api('/api/v1/payouts', '', 'limit=100&include=lines'),
    ...api('/api/v1/analytics', '', ALL_TIME),
  ]
}

const timed = (path: string, name = path.replace(/_01[0-9A-Z]{24}/g, '_…')): Timed => ({ name, path })
